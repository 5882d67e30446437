"""Stale: whether a stored verdict was won against a baseline that the task no longer has.

A pinned package moves on, and so does what users run. A gain over the version before says nothing
of the one that is the baseline now, and is labelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.baseline import Baseline
from assay.spec.baseline import LocalBaseline
from assay.spec.baseline import WheelBaseline
from assay.spec.documents import parse_document
from assay.spec.environment import Provenance
from assay.spec.errors import AssayError
from assay.spec.lock import LOCK_FILE
from assay.spec.solution import SealedSolution
from assay.task.files import seal
from assay.task.load import TaskFolder
from assay.task.load import load_solution
from assay.task.load import load_task
from assay.task.snapshot.stored import read_lock

STALE = "stale baseline"
PRIMARY = "baseline"
"""How a verdict names the primary baseline, whatever that is called."""


class Baselines:
    """The baselines of tasks as they are now, each read once."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskFolder | None] = {}
        self._hashes: dict[str, dict[str, str | None]] = {}

    def labels(self, body: Mapping[str, Any], task: TaskFolder | None = None) -> tuple[str, ...]:
        """What the body of a verdict's row has to be labelled with. Where the task or its baseline
        is not to be found, nobody can tell, and nothing is said."""
        try:
            provenance = parse_document(body.get("provenance"), Provenance, "provenance")
        except AssayError:  # a row of another kind, or one that no judge wrote
            return ()
        found = task or self._found(provenance.task)
        if found is None:
            return ()
        return (STALE,) if self._is_stale(found, provenance) else ()

    def _is_stale(self, task: TaskFolder, provenance: Provenance) -> bool:
        hashes = self._of(task)
        if provenance.against is None:
            # From before verdicts named it: any baseline or solution that is here may have been.
            here = {*hashes.values(), *_solutions(task)}
            return None not in here and provenance.baseline_hash not in here
        name = provenance.against
        if name == PRIMARY:
            name = task.task.primary_baseline.name
        now = hashes.get(name)
        return now is not None and now != provenance.baseline_hash

    def _found(self, name: str) -> TaskFolder | None:
        if name not in self._tasks:
            try:
                self._tasks[name] = load_task(name)
            except AssayError:
                self._tasks[name] = None
        return self._tasks[name]

    def _of(self, task: TaskFolder) -> dict[str, str | None]:
        key = str(task.path)
        if key not in self._hashes:
            self._hashes[key] = {b.name: baseline_hash(task, b) for b in task.task.baselines}
        return self._hashes[key]


def baseline_hash(task: TaskFolder, baseline: Baseline) -> str | None:
    """The hash that evidence refers to it by; of a wheel the lock is enough, its files need not be
    here. None where it cannot be read, or has no sources of its own."""
    try:
        if isinstance(baseline, LocalBaseline):
            return load_solution(task.path / baseline.path).content_hash
        if isinstance(baseline, WheelBaseline):
            folder = task.path / baseline.path
            own = load_solution(folder).sealed
            lock = seal(LOCK_FILE, read_lock(folder).canonical())
            sealed = SealedSolution(solution=own.solution, files=(*own.files, lock))
            return sealed.content_hash
    except AssayError:
        return None
    return None


def _solutions(task: TaskFolder) -> set[str | None]:
    found: set[str | None] = set()
    for name in task.solution_names:
        try:
            found.add(load_solution(task.path / "solutions" / name).content_hash)
        except AssayError:
            found.add(None)
    return found


@dataclass(frozen=True)
class Standing:
    """The newest verdict on one candidate."""

    row: str
    """Its id in the ledger."""
    time: str
    candidate: str
    """The solution's name where it still is one of the task's, else the start of its hash."""
    verdict: str
    geomean: float | None
    labels: tuple[str, ...]


def standings(task: TaskFolder, ledger: Ledger) -> tuple[Standing, ...]:
    """The newest verdict on each candidate of this very task, the newest first."""
    baselines = Baselines()
    names = _names(task)
    newest: dict[str, Standing] = {}
    if not (ledger.path.is_dir() and any(ledger.path.iterdir())):
        return ()
    for row in sorted(ledger.rows(), key=lambda row: row.time):
        provenance = row.body.get("provenance")
        if not isinstance(provenance, dict) or provenance.get("task_hash") != task.content_hash:
            continue
        candidate = str(provenance.get("candidate_hash"))
        newest.pop(candidate, None)
        newest[candidate] = _standing(row, names.get(candidate, candidate[:12]), baselines, task)
    return tuple(reversed(newest.values()))


def _standing(row: Row, candidate: str, baselines: Baselines, task: TaskFolder) -> Standing:
    geomean = row.body.get("geomean")
    stated = [str(label) for label in row.body.get("labels") or ()]
    return Standing(
        row=row.id,
        time=row.time,
        candidate=candidate,
        verdict=str(row.body.get("verdict")),
        geomean=geomean if isinstance(geomean, float) else None,
        labels=(*baselines.labels(row.body, task), *stated),
    )


def _names(task: TaskFolder) -> dict[str, str]:
    """By hash, the task's solutions and baselines."""
    found: dict[str, str] = {}
    for baseline in task.task.baselines:
        known = baseline_hash(task, baseline)
        if known is not None:
            found[known] = baseline.name
    for name in task.solution_names:
        try:
            found[load_solution(task.path / "solutions" / name).content_hash] = name
        except AssayError:
            continue
    return found
