"""The place of a snapshot: lock and files appear together, or nothing changes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.spec.errors import StorageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SNAPSHOT
from assay.spec.lock import BaselineLock


def put_in_place(
    folder: Path, files: Mapping[str, bytes], lock: BaselineLock | None = None
) -> None:
    """Write the wheel's files below `snapshot` and, when given one, the lock beside it.

    All is written to a hidden folder first and then renamed. A crash between two renames leaves a
    snapshot that its lock refuses, and that `assay task snapshot` writes again.
    """
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True, parents=True)
        holder = Path(tempfile.mkdtemp(prefix=".snapshot.", dir=folder))
        try:
            _stage(holder, files, lock)
            _swap(holder, folder, with_lock=lock is not None)
        finally:
            shutil.rmtree(holder, ignore_errors=True)
            if made and not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise StorageError(
            f"cannot be written: {error.strerror}",
            where=quote(folder),
            next_step="work on a copy of the task in a folder of yours",
        ) from None


def _stage(holder: Path, files: Mapping[str, bytes], lock: BaselineLock | None) -> None:
    for relative, data in files.items():
        path = holder / SNAPSHOT / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if lock is not None:
        (holder / LOCK_FILE).write_text(json.dumps(lock.content(), indent=2) + "\n")


def _swap(holder: Path, folder: Path, *, with_lock: bool) -> None:
    old = holder / "old"
    if (folder / SNAPSHOT).exists():
        os.rename(folder / SNAPSHOT, old)
    try:
        os.rename(holder / SNAPSHOT, folder / SNAPSHOT)
        if with_lock:
            os.replace(holder / LOCK_FILE, folder / LOCK_FILE)
    except OSError:
        shutil.rmtree(folder / SNAPSHOT, ignore_errors=True)
        if old.exists():
            os.rename(old, folder / SNAPSHOT)
        raise
