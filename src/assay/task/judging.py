"""Judging a task by its address: load, seal, judge, and put the evidence into the ledger."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.device import open_judging_device
from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.evidence import TASK_VERDICT
from assay.judge.evidence import store
from assay.judge.exam import question_from
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.judge.referee import Report
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.environment import Provenance
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.verdict import TaskVerdict
from assay.task.admission import admission_of
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_task
from assay.task.stale import PRIMARY
from assay.task.stale import Baselines

BASELINE = PRIMARY
INCUMBENT = "incumbent"


@dataclass(frozen=True)
class Stored:
    """A judgement, and the ledger row that holds it."""

    judgement: Judgement
    row: Row


def make_case(
    task: TaskFolder,
    candidate: LoadedSolution,
    against: LoadedSolution,
    *,
    unadmitted: bool,
    labels: Sequence[str] = (),
) -> Case:
    """What the judge is shown. A task that was not admitted needs to be asked for."""
    admission = admission_of(task)
    if admission is None and not unadmitted:
        raise UsageError(
            "not admitted: nobody has shown that a wrong solution fails here",
            where=task.task.name,
            next_step=f"assay task admit {quote(task.task.name)}, or judge with --unadmitted",
        )
    return Case(
        task=task.task,
        task_hash=task.content_hash,
        rows=task.workloads.rows,
        reference=task.reference,
        baseline=contender_of(against),
        candidate=contender_of(candidate),
        labels=(*(() if admission is not None else ("task not admitted",)), *labels),
    )


def contender_of(loaded: LoadedSolution) -> Contender:
    """A solution as the judge is shown it."""
    return Contender(loaded.sealed, loaded.sources, loaded.lock)


def judge(
    task: str | Path,
    candidate: str | Path,
    *,
    ledger: Path,
    against: str | Path = BASELINE,
    lanes: Sequence[Lane] = (Lane.THROUGHPUT,),
    budget: Budget = DEFAULT_BUDGET,
    rules: Rules = DEFAULT_RULES,
    unadmitted: bool = False,
    device: str | None = None,
    report: Report | None = None,
    defences: Defences = ALL_DEFENCES,
) -> Stored:
    """Is the candidate right, is it faster, by how much, and how sure is that?"""
    folder = load_task(task)
    contender = find_solution(folder, candidate)
    rival = find_rival(folder, against, Ledger(ledger))
    labels = _rival_labels(folder, against, Ledger(ledger))
    case = make_case(folder, contender, rival, unadmitted=unadmitted, labels=labels)
    # Opened first: a ledger that cannot be written is said before anything is measured.
    with Ledger(ledger).writer(environment()) as writer:
        referee = Referee(
            case,
            rules=rules,
            budget=budget,
            lanes=lanes,
            device=device,
            report=report,
            defences=defences,
        )
        judgement = referee.judge()
        row = store(writer, judgement, provenance_of(case, device, str(against)), rules)
    return Stored(judgement, row)


def reproduce(
    task: str | Path, candidate: str | Path, token: str, *, device: str | None = None
) -> TaskVerdict:
    """Ask one question of an earlier exam again."""
    folder = load_task(task)
    case = make_case(
        folder, find_solution(folder, candidate), load_baseline(folder), unadmitted=True
    )
    return Referee(case, device=device).ask(question_from(case, token))


def find_rival(task: TaskFolder, against: str | Path, ledger: Ledger) -> LoadedSolution:
    """What to compare with: the primary baseline, the incumbent, or any solution."""
    if str(against) == BASELINE:
        return load_baseline(task)
    if str(against) != INCUMBENT:
        return find_solution(task, against)
    row = _incumbent_row(task, ledger)
    wanted = None if row is None else row.body["provenance"].get("candidate_hash")
    for name in task.solution_names:
        solution = find_solution(task, name)
        if solution.content_hash == wanted:
            return solution
    raise UsageError(
        "there is no incumbent: no solution of this task has been judged FASTER",
        where=task.task.name,
        next_step="judge against the baseline first, or name a solution",
    )


def _rival_labels(task: TaskFolder, against: str | Path, ledger: Ledger) -> tuple[str, ...]:
    """An incumbent may have won against a baseline that the task no longer has."""
    row = _incumbent_row(task, ledger) if str(against) == INCUMBENT else None
    found = () if row is None else Baselines().labels(row.body, task)
    return tuple(f"{INCUMBENT}: {label}" for label in found)


def _incumbent_row(task: TaskFolder, ledger: Ledger) -> Row | None:
    """The newest FASTER verdict on this very task."""
    found = None
    if ledger.path.is_dir() and any(ledger.path.iterdir()):
        for row in ledger.rows(TASK_VERDICT):
            provenance = row.body.get("provenance") or {}
            if (
                row.body.get("verdict") == "faster"
                and provenance.get("task_hash") == task.content_hash
            ):
                found = row
    return found


def provenance_of(case: Case, device: str | None = None, against: str | None = None) -> Provenance:
    now = datetime.datetime.now(datetime.UTC)
    return Provenance(
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=quote(" ".join(["assay", *sys.argv[1:]])),
        task=case.task.name,
        task_hash=case.task_hash,
        baseline_hash=case.baseline.sealed.content_hash,
        candidate_hash=case.candidate.sealed.content_hash,
        harness_hash=harness_hash(),
        environment=environment(),
        device=open_judging_device(device or case.task.device).identity,
        against=None if against is None else quote(against),
    )
