"""What lies in a baseline's folder: the lock, the shims, and the wheel's files, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from assay.spec.documents import parse_document
from assay.spec.errors import DocumentError
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SHIMS
from assay.spec.lock import SNAPSHOT
from assay.spec.lock import BaselineLock
from assay.spec.source import SourceFile
from assay.task.files import read_inside
from assay.task.files import seal

LARGEST_LOCK = 4 * 2**20
LARGEST_SNAPSHOT = 8 * 2**20
"""All files of the wheel together: a closure that is larger has a server in it."""


def read_lock(folder: Path) -> BaselineLock:
    """The lock of a baseline's folder; DocumentError for one that was edited by hand."""
    where = quote(folder / LOCK_FILE)
    data = read_inside(folder, LOCK_FILE, LARGEST_LOCK)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {quote(error)}", where=where) from None
    lock = parse_document(value, BaselineLock, where)
    if lock.seal != lock.worked_out:
        raise DocumentError(
            "edited by hand: entries, files, shims, requirements and the wheel are the program's",
            where=where,
            next_step="restore the file, or make the lock again with assay task refresh",
        )
    return lock


def read_snapshot(folder: Path, lock: BaselineLock, next_step: str) -> dict[str, bytes]:
    """The wheel's files and the shims in their places, every byte as the lock has it."""
    if not (folder / SNAPSHOT).is_dir():
        raise UsageError(
            f"the files of {lock.package} {lock.version} are not here",
            where=quote(folder / SNAPSHOT),
            next_step=next_step,
        )
    _check_size(lock, quote(folder / LOCK_FILE))
    files = {file.path: _checked(folder, SNAPSHOT, file, next_step) for file in lock.files}
    again = "restore the shim, or pin it anew with assay task refresh"
    shims = {s.file.path: _checked(folder, SHIMS, s.file, again) for s in lock.shims}
    return files | shims


def _check_size(lock: BaselineLock, where: str) -> None:
    together = sum(file.bytes for file in (*lock.files, *(shim.file for shim in lock.shims)))
    if together > LARGEST_SNAPSHOT:
        raise UsageError(
            f"all files together are {together} bytes, over {LARGEST_SNAPSHOT}", where=where
        )


def _checked(folder: Path, below: str, file: SourceFile, next_step: str) -> bytes:
    path = f"{below}/{file.path}"
    if not (folder / path).is_file():
        raise UsageError(
            "missing, and the lock names it", where=quote(folder / path), next_step=next_step
        )
    # One byte more than it has: a longer file is told by its hash like any other.
    data = read_inside(folder, path, max(file.bytes, LARGEST_SNAPSHOT))
    check_bytes(file, data, quote(folder / path), next_step)
    return data


def check_bytes(file: SourceFile, data: bytes, where: str, next_step: str = "") -> None:
    found = seal(file.path, data)
    if found != file:
        raise EvidenceError(
            f"not the file that the lock names: {len(data)} bytes with hash {found.sha256[:12]}, "
            f"the lock has {file.bytes} with {file.sha256[:12]}",
            where=where,
            next_step=next_step,
        )


def lay_over(sources: Mapping[str, bytes], snapshot: Mapping[str, bytes]) -> dict[str, bytes]:
    """The solution's own sources, then the wheel's files; neither may stand for the other."""
    for path in sources:
        if path == LOCK_FILE or path in snapshot:
            raise UsageError(f"source {quote(path)} is in the place of a locked file")
    return {**sources, **snapshot}
