"""The few file operations that a writer needs, and what to say when the file system refuses."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from assay.spec.errors import StorageError
from assay.spec.errors import quote

_FULL = "free some space and run again; every acknowledged row is safe"
_REFUSED = "name a folder you may write to, or set ASSAY_HOME"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _REFUSED,
    errno.EACCES: _REFUSED,
    errno.EPERM: _REFUSED,
    errno.EIO: "the disk failed; copy the ledger to another one and verify it",
}


@contextlib.contextmanager
def refusal_explained(what: str, where: Path) -> Iterator[None]:
    """Turn the file system's refusal into one line: what, where, what to do."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot {what}: {error.strerror or error}",
            where=quote(where),
            next_step=_ADVICE.get(error.errno or 0, "see the file system's state and run again"),
        ) from error


def write_at(fd: int, data: bytes, offset: int) -> None:
    """All of `data`, however little the system takes at a time."""
    left = memoryview(data)
    while left:
        written = os.pwrite(fd, left, offset)
        offset += written
        left = left[written:]


def read_at(fd: int, size: int, offset: int) -> bytes:
    """`size` bytes, or fewer at the end of the file."""
    parts = []
    while size > 0 and (part := os.pread(fd, size, offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)


def write_new(path: Path, data: bytes) -> None:
    """A new file with this content, on the disk when this returns."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_at(fd, data, 0)
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A file's name is on the disk only when its folder is."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """The folder and those above it, each with its name on the disk."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for part in missing:
        sync_folder(part.parent)
