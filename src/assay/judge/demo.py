"""The demo: three scripted candidates, judged, stored and checked again, without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.device.environment import environment
from assay.device.fake import FakeDevice
from assay.device.fake import Jitter
from assay.device.fake import Script
from assay.judge.evidence import recheck
from assay.judge.evidence import store_row
from assay.judge.evidence import store_task
from assay.judge.sitting import Progress
from assay.judge.sitting import Sitting
from assay.ledger import Ledger
from assay.ledger import VerifyReport
from assay.ledger import verify
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import QUICK_BUDGET
from assay.spec.sample import Pair
from assay.spec.verdict import TaskVerdict
from assay.stats.blocks import block_table
from assay.stats.task_rule import judge_task

ROWS = {"rows4096_width128": 81e-6, "rows648_width3072": 30e-6}
CANDIDATES = {"win": 1.25, "tie": 1.0, "loss": 0.97}


@dataclass(frozen=True)
class Demonstration:
    verdicts: dict[str, TaskVerdict]
    ledger_ids: dict[str, str]
    check: VerifyReport


def demonstrate(ledger: Path, progress: Callable[[Progress], None]) -> Demonstration:
    """Judge each candidate on the fake device, then verify the ledger and redo the verdicts."""
    verdicts: dict[str, TaskVerdict] = {}
    ids: dict[str, str] = {}
    with Ledger(ledger).writer(environment()) as writer:
        for seed, (name, gain) in enumerate(CANDIDATES.items()):
            device = FakeDevice(Jitter(seed))
            candidate = Script({row: seconds / gain for row, seconds in ROWS.items()})
            sitting = Sitting(device, Script(ROWS), candidate, DEFAULT_RULES, progress=progress)
            records = sitting.run(list(ROWS), [Lane.THROUGHPUT], QUICK_BUDGET)
            task = f"fake/{name}"
            rows = [store_row(writer, task, record, DEFAULT_RULES) for record in records]
            verdicts[name] = judge_task(
                task,
                [record.verdict() for record in records],
                {record.row: block_table(record.samples, Pair.AB) for record in records},
                DEFAULT_RULES,
                calls={},
                labels=("scripted times",),
            )
            ids[name] = store_task(writer, verdicts[name], rows).id
    return Demonstration(verdicts, ids, verify(Ledger(ledger), recompute=recheck))
