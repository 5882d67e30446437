"""Surveying a task by its address: every baseline on every row, each row on record when done."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.device import open_judging_device
from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.judge.case import Case
from assay.judge.sitting import Progress
from assay.judge.survey import Survey
from assay.judge.survey_record import Entrant
from assay.judge.survey_record import Pace
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.baseline import ReferenceBaseline
from assay.spec.errors import AssayError
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.task.judging import contender_of
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_task

SURVEY = "survey"


class SurveyInterruptedError(AssayError):
    """The user stopped the survey; the rows that were done are on record."""

    exit_status = ExitStatus.INTERRUPTED


@dataclass(frozen=True)
class Surveyed:
    """The rows of a ledger that hold a survey, those of earlier runs among them."""

    rows: tuple[Row, ...]

    @property
    def exit_status(self) -> ExitStatus:
        """1 where a solution has no figures on some row."""
        failed = any(row.body["failures"] for row in self.rows)
        return ExitStatus.NO if failed else ExitStatus.YES


def survey(
    task: str | Path,
    *,
    ledger: Path,
    solutions: Sequence[str] = (),
    lanes: Sequence[Lane] = (),
    rows: str = "*",
    device: str | None = None,
    pace: Pace | None = None,
    resume: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> Surveyed:
    """Time the task's baselines, or the solutions named, on all rows whose id matches.

    The first is timed in `lanes` beside throughput, the others in throughput alone; with `resume`
    rows that are on record for these very sources and this harness and host are not done again.
    """
    folder = load_task(task)
    entrants = _entrants(folder, solutions, lanes)
    chosen = tuple(r for r in folder.workloads.rows if fnmatch.fnmatchcase(r.id, rows))
    if not chosen:
        raise UsageError(f"no row matches {quote(rows)}", where=folder.task.name)
    stamp = _stamp(folder, entrants, device or folder.task.device)
    known = dict(_on_record(Ledger(ledger), stamp)) if resume else {}
    todo = tuple(row for row in chosen if row.id not in known)
    first = entrants[0].contender
    case = Case(folder.task, folder.content_hash, todo, folder.reference, first, first)
    with Ledger(ledger).writer(environment()) as writer:
        if todo:
            work = Survey(case, entrants, device=device, pace=pace, report=report)
            try:
                for done in work.run():
                    known[done.row] = writer.append(SURVEY, {**stamp, **done.content()})
            except KeyboardInterrupt:
                raise SurveyInterruptedError(
                    f"interrupted with {len(known)} of {len(chosen)} rows on record",
                    next_step="the same command with --resume goes on from there",
                ) from None
    return Surveyed(tuple(known[row.id] for row in chosen))


def _entrants(
    folder: TaskFolder, names: Sequence[str], lanes: Sequence[Lane]
) -> tuple[Entrant, ...]:
    loaded = {name: find_solution(folder, name) for name in names} or _baselines(folder)
    more = tuple(dict.fromkeys((Lane.THROUGHPUT, *lanes)))
    return tuple(
        Entrant(name, contender_of(one), more if index == 0 else (Lane.THROUGHPUT,))
        for index, (name, one) in enumerate(loaded.items())
    )


def _baselines(folder: TaskFolder) -> dict[str, LoadedSolution]:
    """All that have sources, the primary one first."""
    order = sorted(folder.task.baselines, key=lambda baseline: not baseline.primary)
    named = [one.name for one in order if not isinstance(one, ReferenceBaseline)]
    return {name: load_baseline(folder, name) for name in named}


def _stamp(folder: TaskFolder, entrants: Sequence[Entrant], device: str) -> dict[str, Any]:
    """What must agree for a row to count again."""
    here = environment()
    return {
        "task": folder.task.name,
        "task_hash": folder.content_hash,
        "solutions": {e.name: e.contender.sealed.content_hash for e in entrants},
        "packages": {
            e.name: f"{e.contender.lock.package} {e.contender.lock.version}"
            for e in entrants
            if e.contender.lock is not None
        },
        "lanes": {e.name: [lane.value for lane in e.lanes] for e in entrants},
        "harness_hash": harness_hash(),
        "host": here.host,
        "device": open_judging_device(device).identity.name,
    }


def _on_record(ledger: Ledger, stamp: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    if not ledger.path.is_dir() or not any(ledger.path.iterdir()):
        return
    for row in sorted(ledger.rows(SURVEY), key=lambda row: row.time):
        if all(row.body.get(key) == value for key, value in stamp.items()):
            yield row.body["row"], row
