"""Claims about a shipped task, measured on the fake device: evidence without the wait."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.device.fake import FakeDevice
from assay.device.fake import Jitter
from assay.device.fake import Script
from assay.judge.evidence import store
from assay.judge.referee import Judgement
from assay.judge.referee import conclude
from assay.judge.sitting import RowRecord
from assay.judge.sitting import Sitting
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.environment import DeviceIdentity
from assay.spec.environment import Provenance
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.stats.task_rule import judge_task
from assay.task import find_solution
from assay.task import load_baseline
from assay.task import load_task
from assay.task.load import TaskFolder

TASK = "cpu/rms_norm"
LABELS = ("one thread a side",)


def provenance_of(task: TaskFolder, candidate: str = "win") -> Provenance:
    return Provenance(
        created="2026-11-15T01:45:00Z",
        command=f"assay judge {TASK} --candidate {candidate}",
        task=task.task.name,
        task_hash=task.content_hash,
        baseline_hash=load_baseline(task).content_hash,
        candidate_hash=find_solution(task, candidate).content_hash,
        harness_hash=harness_hash(),
        environment=environment(),
        device=DeviceIdentity(kind="cpu", name="scripted", cache_bytes=1 << 20),
    )


def measured(
    rows: Sequence[str],
    gain: float,
    rules: Rules = DEFAULT_RULES,
    lanes: Sequence[Lane] = (Lane.THROUGHPUT,),
) -> list[RowRecord]:
    baseline = Script(dict.fromkeys(rows, 1e-4))
    candidate = Script(dict.fromkeys(rows, 1e-4 / (1 + gain)))
    sitting = Sitting(FakeDevice(Jitter(7)), baseline, candidate, rules, order=random.Random(7))
    return sitting.run(rows, lanes, Budget(row_seconds=3.0))


def judged(
    task: TaskFolder, gain: float = 0.25, rules: Rules = DEFAULT_RULES, rows: int | None = None
) -> Judgement:
    names = [row.id for row in task.workloads.rows][:rows]
    records = measured(names, gain, rules)
    calls = {row.id: row.calls for row in task.workloads.rows}
    verdict = conclude(task.task.name, records, rules, calls, LABELS)
    return Judgement(verdict, tuple(records))


def crashed(task: TaskFolder) -> Judgement:
    row = RowVerdict(
        row=task.workloads.rows[0].id,
        lane=Lane.THROUGHPUT,
        status=Status.CRASH,
        reason="its process was killed by SIGSEGV",
    )
    return Judgement(judge_task(task.task.name, [row], {}, DEFAULT_RULES, {}, LABELS))


def stored(
    folder: Path,
    judgement: Judgement | None = None,
    *,
    task: TaskFolder | None = None,
    rules: Rules = DEFAULT_RULES,
) -> tuple[Ledger, Row]:
    """A ledger with one claim, and the claim's row."""
    about = task or load_task(TASK)
    ledger = Ledger(folder)
    with ledger.writer(environment()) as writer:
        row = store(writer, judgement or judged(about), provenance_of(about), rules)
    return ledger, row
