"""What `assay task snapshot` and `assay task refresh` share: options, and how a lock is shown."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer

from assay.cli._progress import progress_bar
from assay.cli._table import print_table
from assay.judge.sitting import Progress
from assay.pack.target import DEFAULT_PLATFORM
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import BaselineLock

if TYPE_CHECKING:
    from assay.task.snapshot.make import Draft

Wheels = Annotated[
    Path | None, typer.Option(help="Take wheels from this folder, not from the network.")
]
Python = Annotated[str, typer.Option(help="The Python whose wheel is taken.")]
Platform = Annotated[
    list[str] | None,
    typer.Option(help=f"The platform whose wheel is taken; {DEFAULT_PLATFORM} when left out."),
]
Provides = Annotated[
    list[str] | None,
    typer.Option(help="MODULE=DISTRIBUTION: who brings a module of others; may be repeated."),
]


@contextmanager
def steps(steps: Sequence[str], quiet: bool) -> Iterator[Callable[[str], None]]:
    with progress_bar(quiet) as show:
        yield lambda step: show(Progress(steps.index(step), len(steps), step))


def pairs(texts: Sequence[str] | None, option: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key and equals and value) or key in found:
            raise UsageError(
                f"{quote(text)} is not {form}"
                if key not in found
                else f"{quote(key)} stands twice",
                where=option,
            )
        found[key] = value
    return found


def show_draft(draft: Draft) -> None:
    lock = draft.lock
    print(
        f"{lock.package} {lock.version}: {len(lock.files)} files, {kibibytes(draft.bytes)}, "
        f"{len(lock.shims)} shims"
    )
    show_needs(lock)
    for place in draft.closure.dangling:
        print(f"not in the wheel  {quote(place)}")


def show_needs(lock: BaselineLock) -> None:
    if lock.requires:
        print_table(
            ("needs", "here"), ((text, _installed(text) or "missing") for text in lock.requires)
        )
    if lock.optional:
        print(f"may need  {', '.join(lock.optional)}")


def _installed(requirement: str) -> str | None:
    """The version of a distribution here, whatever the requirement asks for."""
    # Late, as all that makes locks: a host that only runs a pack may lack what it is made with.
    from packaging.requirements import Requirement

    try:
        return importlib.metadata.version(Requirement(requirement).name)
    except importlib.metadata.PackageNotFoundError:
        return None


def needs_content(lock: BaselineLock) -> dict[str, Any]:
    return {"installed": {text: _installed(text) for text in lock.requires}}


def draft_content(draft: Draft) -> dict[str, Any]:
    return {
        "lock": draft.lock.content(),
        "bytes": draft.bytes,
        "imported_by": dict(draft.closure.importers),
        "not_in_the_wheel": list(draft.closure.dangling),
        **needs_content(draft.lock),
    }


def kibibytes(size: int) -> str:
    return f"{-(-size // 1024)} KiB"
