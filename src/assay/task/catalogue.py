"""Catalogue: the tasks that can be named here, shipped ones and those of this project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.spec.errors import UsageError
from assay.task.address import LOCAL
from assay.task.address import SHIPPED
from assay.task.address import folders_under
from assay.task.load import TaskFolder
from assay.task.load import load_task


@dataclass(frozen=True)
class Entry:
    """One task folder; a folder that does not load is listed with the reason."""

    address: str
    path: Path
    shipped: bool
    folder: TaskFolder | None
    problem: str | None = None


def catalogue(root: Path | None = None) -> list[Entry]:
    """All tasks below the root; without one, the shipped tasks and those under ./tasks."""
    if root is not None:
        if not root.is_dir():
            raise UsageError("not a folder", where=str(root))
        return [_entry(folder, str(folder), shipped=False) for folder in folders_under(root)]
    shipped = [
        _entry(folder, folder.relative_to(SHIPPED).as_posix(), shipped=True)
        for folder in folders_under(SHIPPED)
    ]
    taken = {entry.address for entry in shipped}
    local = []
    for folder in folders_under(LOCAL):
        name = folder.relative_to(LOCAL).as_posix()
        # A shipped task of the same name comes first, so this one is only reached by its path.
        local.append(_entry(folder, str(folder) if name in taken else name, shipped=False))
    return shipped + local


def _entry(folder: Path, address: str, *, shipped: bool) -> Entry:
    try:
        return Entry(address, folder, shipped, load_task(folder))
    except UsageError as error:
        return Entry(address, folder, shipped, None, str(error))
