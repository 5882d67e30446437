"""Entries: the files that go into a pack, before anything is written."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.pack.manifest import stays_inside
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SNAPSHOT

_EXECUTABLE = 0o100


@dataclass(frozen=True)
class Entry:
    """One file: where it goes, which part it counts to, and how to get its bytes."""

    path: str
    part: str
    size: int
    read: Callable[[], bytes]
    executable: bool = False


def checked_path(path: str, where: str) -> str:
    """The path, if a pack may hold a file of that name."""
    try:
        return stays_inside(path)
    except ValueError as error:
        raise UsageError(f"holds {quote(path)}: {error}", where=where) from None


def text_entry(path: str, part: str, text: str, *, executable: bool = False) -> Entry:
    return data_entry(path, part, text.encode(), executable=executable)


def data_entry(path: str, part: str, data: bytes, *, executable: bool = False) -> Entry:
    return Entry(path, part, len(data), lambda: data, executable)


def folder_entries(folder: Path, under: str, part: str) -> Iterator[Entry]:
    """The files of a folder in order; hidden ones and compiled Python stay behind.

    So does a snapshot beside its lock: which of its files travel, the lock says.
    """
    root = folder.resolve(strict=True)
    for path in _files(root):
        name = checked_path(f"{under}/{path.relative_to(root).as_posix()}", quote(folder))
        state = _plain(path, root)
        executable = bool(state.st_mode & _EXECUTABLE)
        yield Entry(name, part, state.st_size, functools.partial(path.read_bytes), executable)


def _files(root: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):
        locked = {SNAPSHOT} if LOCK_FILE in names else set()
        folders[:] = sorted(name for name in folders if _travels(name) and name not in locked)
        for name in folders:
            # os.walk does not enter these, and what they hold would be missing without a word.
            if (Path(parent) / name).is_symlink():
                raise UsageError("a link to a folder", where=quote(Path(parent) / name))
        yield from (Path(parent) / name for name in sorted(names) if _travels(name))


def _travels(name: str) -> bool:
    return not (name.startswith(".") or name == "__pycache__" or name.endswith(".pyc"))


def _plain(path: Path, root: Path) -> os.stat_result:
    """Its state; a link must stay inside the folder, and anything but a file is refused."""
    try:
        inside = path.resolve(strict=True).is_relative_to(root)
        state = path.stat()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"cannot be read: {quote(error)}", where=quote(path)) from None
    if not inside:
        raise UsageError(
            "a link that leaves its folder", where=quote(path), next_step="copy the file instead"
        )
    if not stat.S_ISREG(state.st_mode):
        raise UsageError("not a plain file", where=quote(path))
    return state
