"""Freezing: what defines a task, by hash, so that a later change is seen and named."""

from __future__ import annotations

import enum
import json
import os
from dataclasses import dataclass
from pathlib import Path

from assay.spec.baseline import ReferenceBaseline
from assay.spec.documents import read_document
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import SNAPSHOT
from assay.spec.noun import Document
from assay.spec.noun import TaskName
from assay.spec.source import SourceFile
from assay.spec.task import Task
from assay.task.files import read_inside
from assay.task.files import seal

FREEZE_FILE = "evidence/freeze.json"
DEFINING_FILES = ("task.toml", "workloads.json", "reference.py")
LARGEST_DEFINING_FILE = 32 * 2**20


class Freeze(Document):
    """`evidence/freeze.json`: every file that decides what the task asks, with its hash."""

    SCHEMA = "assay.freeze.1"

    task: TaskName
    files: tuple[SourceFile, ...]


class FreezeStatus(enum.StrEnum):
    FROZEN = "frozen"
    CHANGED = "changed"
    NOT_FROZEN = "not_frozen"


@dataclass(frozen=True)
class FreezeState:
    """Whether a folder still is what was frozen, and which files are not."""

    status: FreezeStatus
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{word} {', '.join(map(quote, names))}"
            for word, names in (
                ("changed", self.changed),
                ("missing", self.missing),
                ("new", self.added),
            )
            if names
        ]
        return "; ".join(parts) or self.status.replace("_", " ")


def freeze(folder: Path, task: Task) -> Freeze:
    """Write evidence/freeze.json for the folder as it is now."""
    frozen = Freeze(task=task.name, files=defining_files(folder, task))
    path = folder / FREEZE_FILE
    scratch = path.with_suffix(".json.new")
    try:
        path.parent.mkdir(exist_ok=True)
        scratch.write_text(json.dumps(frozen.content(), indent=2) + "\n")
        os.replace(scratch, path)
    except OSError as error:
        raise StorageError(
            f"cannot be written: {error.strerror}",
            where=quote(path),
            next_step="freeze a copy of the task in a folder of yours",
        ) from None
    return frozen


def freeze_state(folder: Path, task: Task) -> FreezeState:
    """How the folder compares with its freeze.json."""
    path = folder / FREEZE_FILE
    if not path.is_file():
        return FreezeState(FreezeStatus.NOT_FROZEN)
    then = {file.path: file for file in read_document(path, Freeze).files}
    now = {file.path: file for file in defining_files(folder, task)}
    changed = tuple(name for name in then if name in now and now[name] != then[name])
    missing = tuple(name for name in then if name not in now)
    added = tuple(name for name in now if name not in then)
    same = not (changed or missing or added)
    status = FreezeStatus.FROZEN if same else FreezeStatus.CHANGED
    return FreezeState(status, changed, missing, added)


def defining_files(folder: Path, task: Task) -> tuple[SourceFile, ...]:
    """Definition, rows, reference, and all files of the baselines but a wheel's own, which their
    lock names; not the solutions."""
    names = list(DEFINING_FILES)
    for baseline in task.baselines:
        if not isinstance(baseline, ReferenceBaseline):
            names += _files_below(folder, baseline.path)
    return tuple(seal(name, read_inside(folder, name, LARGEST_DEFINING_FILE)) for name in names)


def _files_below(folder: Path, relative: str) -> list[str]:
    root = folder / relative
    if not root.is_dir():
        raise UsageError("the baseline's folder is missing", where=quote(root))
    paths = (path for path in root.rglob("*") if not path.is_dir())
    names = (path.relative_to(root).as_posix() for path in paths)
    kept = (name for name in names if "__pycache__" not in name.split("/"))
    return sorted(f"{relative}/{name}" for name in kept if not name.startswith(f"{SNAPSHOT}/"))
