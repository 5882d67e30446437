"""Addresses: `cpu/rms_norm` for a shipped task, or the path of a folder that holds a task.toml."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import assay
from assay.spec.errors import UsageError
from assay.spec.errors import quote

TASK_FILE = "task.toml"
SHIPPED = Path(assay.__file__).parent / "tasks"
LOCAL = Path("tasks")
"""Tasks of the project that the command runs in."""

_DEEPEST = 4
_MOST_NAMES = 12


def resolve(address: str | Path) -> Path:
    """The folder of a task: shipped names first, then ./tasks, then any path."""
    candidates = [Path(address)]
    if isinstance(address, str) and _is_name(address):
        candidates = [SHIPPED / address, LOCAL / address, Path(address)]
    for folder in candidates:
        if (folder / TASK_FILE).is_file():
            return folder
    raise _unknown(address)


def _is_name(address: str) -> bool:
    return not address.startswith((".", "/")) and ".." not in address.split("/")


def _unknown(address: str | Path) -> UsageError:
    folder = Path(address)
    if folder.exists():
        what = "not a folder" if not folder.is_dir() else f"the folder has no {TASK_FILE}"
        return UsageError(what, where=quote(address), next_step="see assay task list")
    known = sorted({*names_under(SHIPPED), *names_under(LOCAL)})
    close = difflib.get_close_matches(str(address), known, n=3, cutoff=0.5)
    shown = close or known[:_MOST_NAMES]
    hint = f"{'did you mean' if close else 'there are'} {', '.join(map(quote, shown))}"
    return UsageError(
        "no such task", where=quote(address), next_step=hint if shown else "see assay task new"
    )


def names_under(root: Path) -> Iterator[str]:
    """Addresses of all task folders below the root, in order; folders of a task are not entered."""
    for folder in folders_under(root):
        yield folder.relative_to(root).as_posix()


def folders_under(root: Path, depth: int = 0) -> Iterator[Path]:
    if depth > _DEEPEST or not root.is_dir():
        return
    for folder in sorted(root.iterdir()):
        if folder.name.startswith((".", "_")) or not folder.is_dir():
            continue
        if (folder / TASK_FILE).is_file():
            yield folder
        else:
            yield from folders_under(folder, depth + 1)
