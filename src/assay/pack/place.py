"""The place of a pack: all of it appears there at once, or nothing does."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.pack.verify import foreign_files
from assay.pack.verify import read_manifest
from assay.spec.errors import UsageError
from assay.spec.errors import quote

NEW = "new"
NEW_ARCHIVE = "new.tar.xz"
_OTHER = "name a new folder"


def archive_path(destination: Path) -> Path:
    return destination.with_name(destination.name + ".tar.xz")


def check_place(destination: Path, *, archive: bool) -> None:
    """UsageError unless the destination is new, empty, or a pack that nothing was added to."""
    where = quote(destination)
    if not destination.parent.is_dir():
        raise UsageError("the folder to put it into is not there", where=where)
    if os.path.lexists(destination) and not destination.is_dir():
        raise UsageError("not a folder", where=where, next_step=_OTHER)
    if destination.is_dir() and any(destination.iterdir()):
        # An archive beside it is then of this pack, and goes with it.
        _check_replaceable(destination, where)
    elif archive and os.path.lexists(archive_path(destination)):
        raise UsageError(
            "there is something already",
            where=quote(archive_path(destination)),
            next_step="remove it, or name another folder",
        )


def _check_replaceable(destination: Path, where: str) -> None:
    try:
        manifest = read_manifest(destination)
    except UsageError:
        raise UsageError(
            "there is something already, and it is no pack", where=where, next_step=_OTHER
        ) from None
    added = next(foreign_files(destination, manifest), None)
    if added is not None:
        raise UsageError(
            f"a pack that holds more than it was made with: {quote(added)}",
            where=where,
            next_step=f"bring evidence home with assay ledger merge and remove it, or {_OTHER}",
        )


@contextmanager
def build_beside(destination: Path) -> Iterator[Path]:
    """A hidden folder beside the destination, to build in; gone afterwards, whatever happens."""
    holder = Path(
        tempfile.mkdtemp(prefix=f".{destination.name}.", suffix=".packing", dir=destination.parent)
    )
    try:
        yield holder
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def put_in_place(holder: Path, destination: Path) -> None:
    """Rename what was built to its destination; an older pack goes with the holder."""
    old = holder / "old"
    if destination.exists():
        os.rename(destination, old)
    try:
        os.rename(holder / NEW, destination)
    except OSError:
        if old.exists():
            os.rename(old, destination)
        raise
    if (holder / NEW_ARCHIVE).exists():
        os.replace(holder / NEW_ARCHIVE, archive_path(destination))
