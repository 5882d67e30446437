"""Which baselines an address means: `TASK` for all of a task out of wheels, or `TASK/BASELINE`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.spec.baseline import WheelBaseline
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.load import TaskFolder
from assay.task.load import find_baseline
from assay.task.load import load_task


@dataclass(frozen=True)
class Pinned:
    """A baseline out of a wheel, and its folder."""

    task: TaskFolder
    name: str
    folder: Path


def pinned_baselines(address: str) -> list[Pinned]:
    """Those that the address means, in the order of the task."""
    try:
        task = load_task(address)
    except UsageError as error:
        return [_by_name(address, error)]
    found = [b.name for b in task.task.baselines if isinstance(b, WheelBaseline)]
    if not found:
        raise UsageError("no baseline of this task is out of a wheel", where=quote(address))
    return [_pinned(task, name) for name in found]


def _by_name(address: str, error: UsageError) -> Pinned:
    """The last part may be the baseline's name; if it is not, the first error says more."""
    above, _, name = address.rstrip("/").rpartition("/")
    try:
        task = load_task(above or address)
    except UsageError:
        raise error from None
    return _pinned(task, name)


def _pinned(task: TaskFolder, name: str) -> Pinned:
    baseline = find_baseline(task, name)
    if not isinstance(baseline, WheelBaseline):
        raise UsageError(
            f"a {baseline.kind} baseline, not one out of a wheel",
            where=f"{task.task.name}: {quote(name)}",
        )
    return Pinned(task, name, task.path / baseline.path)


def baseline_folder(task: TaskFolder, name: str) -> Path:
    """Where a baseline of that name lies, whether the task names it yet or not."""
    for baseline in task.task.baselines:
        if baseline.name == name:
            return _pinned(task, name).folder
    return task.path / "baselines" / name
