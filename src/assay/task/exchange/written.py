"""Written: a task's folder that is whole, or not there at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path

from assay.spec.baseline import WheelBaseline
from assay.spec.errors import AssayError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.files import write_new_folder
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task
from assay.task.snapshot.stored import read_lock

Files = Mapping[str, str]


def write_task(folder: Path, files: Files) -> TaskFolder:
    """Write the files, load all that they hold, and only then give the folder its name."""

    def check(made: Path) -> None:
        task = load_task(made)
        primary = task.task.primary_baseline
        if isinstance(primary, WheelBaseline):
            read_lock(made / primary.path)  # its files are fetched later
            load_solution(made / primary.path, task.task)
        else:
            load_baseline(task)
        for name in task.solution_names:
            find_solution(task, name)

    write_whole(folder, files, check)
    return load_task(folder)


def add_solution(task: TaskFolder, name: str, files: Files) -> Path:
    """A further folder below `solutions`."""
    folder = task.path / "solutions" / name
    write_whole(folder, files, lambda made: _check_solution(made, task))
    return folder


def _check_solution(folder: Path, task: TaskFolder) -> None:
    load_solution(folder, task.task)


def write_whole(folder: Path, files: Files, check: Callable[[Path], None]) -> None:
    """The files in a folder beside its place, moved there once the check has passed."""
    where = quote(folder)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                "there is something already", where=where, next_step="name a new or empty folder"
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".assay-import-", dir=folder.parent))
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=where) from None
    try:
        made = scratch / "made"
        write_new_folder(made, files)
        check(made)
        os.replace(made, folder)
    except AssayError as error:
        told = error.where.replace(str(scratch / "made"), str(folder))
        raise type(error)(error.what, where=told, next_step=error.next_step) from None
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=where) from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(scratch)
