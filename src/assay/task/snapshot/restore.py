"""Restoring: the files of an existing lock, out of the very wheel that it was made from."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.spec.errors import EvidenceError
from assay.spec.errors import quote
from assay.spec.lock import BaselineLock
from assay.task.snapshot.obtain import obtain_locked
from assay.task.snapshot.place import put_in_place
from assay.task.snapshot.published import Published
from assay.task.snapshot.published import open_wheel
from assay.task.snapshot.stored import check_bytes
from assay.task.snapshot.stored import read_lock

STEPS = ("the wheel", "its files", "writing")


@dataclass(frozen=True)
class Restored:
    lock: BaselineLock
    bytes: int


def restore(
    folder: Path,
    *,
    wheels: Path | None = None,
    report: Callable[[str], None] = lambda step: None,
) -> Restored:
    """Write `snapshot` anew as the lock has it; nothing changes unless every byte is right."""
    lock = read_lock(folder)
    with tempfile.TemporaryDirectory(prefix="assay-snapshot-") as scratch:
        report(STEPS[0])
        path = obtain_locked(lock, wheels=wheels, scratch=Path(scratch))
        with open_wheel(path, lock.package, lock.version) as published:
            report(STEPS[1])
            files = _files(published, lock)
    report(STEPS[2])
    put_in_place(folder, files)
    return Restored(lock, sum(map(len, files.values())))


def _files(published: Published, lock: BaselineLock) -> dict[str, bytes]:
    where = quote(published.wheel)
    if published.sha256 != lock.wheel_sha256:
        raise EvidenceError(
            f"not the wheel that was pinned: hash {published.sha256[:12]}, "
            f"the lock has {lock.wheel_sha256[:12]}",
            where=where,
            next_step=f"find {lock.wheel}, or pin this one with assay task refresh",
        )
    files = {}
    for file in lock.files:
        if file.path not in published.entries:
            raise EvidenceError(f"has no {file.path}, and the lock names it", where=where)
        files[file.path] = published.read(file.path)
        check_bytes(file, files[file.path], f"{where}: {file.path}")
    return files
