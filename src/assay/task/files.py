"""Files of a task's folder: read once, plain, inside the folder, bounded; never overwritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex
from assay.spec.source import SourceFile

LARGEST_SOURCE = 4 * 2**20


def read_inside(folder: Path, relative: str, largest: int = LARGEST_SOURCE) -> bytes:
    """The bytes of a file of the folder; UsageError if it lies outside or is no plain file."""
    path = folder / relative
    where = quote(path)
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve(strict=True)):
            raise UsageError(
                "a link that leaves its folder", where=where, next_step="copy the file instead"
            )
        return _read_plain(real, where, largest)
    except FileNotFoundError:
        raise UsageError("there is no such file", where=where) from None
    except RuntimeError:  # what Python 3.11 and 3.12 say of a link that leads to itself
        raise UsageError("cannot be read: a loop of links", where=where) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where) from None


def _read_plain(path: Path, where: str, largest: int) -> bytes:
    # A named pipe would block in open() without O_NONBLOCK.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError("not a plain file", where=where)
        data = file.read(largest + 1)
    if len(data) > largest:
        raise UsageError(f"larger than {largest} bytes", where=where)
    return data


def seal(relative: str, data: bytes) -> SourceFile:
    return SourceFile(path=relative, sha256=sha256_hex(data), bytes=len(data))


def write_new_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into a folder that is new or empty; nothing is ever overwritten."""
    where = quote(folder)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                "there is something already", where=where, next_step="name a new or empty folder"
            )
        for relative, text in files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=where) from None
