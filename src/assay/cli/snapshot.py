"""`assay task snapshot`: upstream kernels, pinned and restored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer

from assay.cli._locks import Platform
from assay.cli._locks import Provides
from assay.cli._locks import Python
from assay.cli._locks import Wheels
from assay.cli._locks import draft_content
from assay.cli._locks import kibibytes
from assay.cli._locks import needs_content
from assay.cli._locks import pairs
from assay.cli._locks import show_draft
from assay.cli._locks import show_needs
from assay.cli._locks import steps
from assay.cli._options import AsJson
from assay.cli._table import print_json
from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.target import Target
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task import TaskFolder
from assay.task import load_task
from assay.task.snapshot.baselines import baseline_folder
from assay.task.snapshot.baselines import pinned_baselines

if TYPE_CHECKING:
    from assay.task.snapshot.make import Recipe
    from assay.task.snapshot.restore import Restored


def snapshot(
    address: Annotated[
        str | None,
        typer.Argument(metavar="[TASK[/BASELINE]]", help="Restore the files of these locks."),
    ] = None,
    package: Annotated[
        str | None, typer.Option(help="NAME==VERSION: make a new lock of this package.")
    ] = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(help="FUNCTION=MODULE:ATTRIBUTE: what stands behind a function of the task."),
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task that the new lock is for.")] = None,
    name: Annotated[str | None, typer.Option(help="What its baseline is called.")] = None,
    shim: Annotated[
        list[str] | None,
        typer.Option(help="MODULE=REASON: a stand-in below shims/; may be repeated."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="A module or file of the wheel that no import names."),
    ] = None,
    needs: Annotated[
        list[str] | None,
        typer.Option(help="A distribution that a call needs, though no import of it must succeed."),
    ] = None,
    provides: Provides = None,
    wheels: Wheels = None,
    python: Python = DEFAULT_PYTHON,
    platform: Platform = None,
    as_json: AsJson = False,
) -> None:
    """Write the files that a baseline's lock names, or make a new lock."""
    if package is None:
        if address is None or entry or task or name or shim or also or needs or provides:
            raise UsageError(
                "name a task to restore, or make a lock with --package, --entry, --task and --name"
            )
        _restore(address, wheels, as_json)
        return
    if address is not None or not entry or task is None or name is None:
        raise UsageError("a new lock takes --package, --entry, --task and --name, and no argument")
    from assay.task.snapshot.make import Recipe
    from assay.task.snapshot.obtain import read_pin

    pin, version = read_pin(package)
    recipe = Recipe(
        pin,
        version,
        pairs(entry, "--entry", "FUNCTION=MODULE:ATTRIBUTE"),
        pairs(shim, "--shim", "MODULE=REASON"),
        tuple(also or ()),
        tuple(needs or ()),
        pairs(provides, "--provides", "MODULE=DISTRIBUTION"),
    )
    _make(
        load_task(task),
        name,
        recipe,
        Target.of(python, platform or [DEFAULT_PLATFORM]),
        wheels,
        as_json,
    )


def _restore(address: str, wheels: Path | None, as_json: bool) -> None:
    from assay.task.snapshot.restore import STEPS
    from assay.task.snapshot.restore import restore

    done: list[tuple[str, Restored]] = []
    for baseline in pinned_baselines(address):
        with steps(STEPS, as_json) as report:
            restored = restore(baseline.folder, wheels=wheels, report=report)
        done.append((baseline.name, restored))
    if as_json:
        print_json([{"name": name, **_restored_content(each)} for name, each in done])
        return
    for name, each in done:
        lock = each.lock
        print(
            f"{name}: {lock.package} {lock.version}, {len(lock.files)} files, "
            f"{kibibytes(each.bytes)}, every byte as locked"
        )
        show_needs(lock)


def _make(
    task: TaskFolder,
    name: str,
    recipe: Recipe,
    target: Target,
    wheels: Path | None,
    as_json: bool,
) -> None:
    from assay.task.snapshot.make import STEPS
    from assay.task.snapshot.make import snapshot as make_snapshot

    for function in recipe.entries:
        if task.task.function(function) is None:
            known = ", ".join(each.name for each in task.task.functions)
            raise UsageError(
                f"{task.task.name} has no function {quote(function)}",
                where="--entry",
                next_step=f"there is {known}",
            )
    folder = baseline_folder(task, name)
    with steps(STEPS, as_json) as report:
        draft = make_snapshot(folder, recipe, target=target, wheels=wheels, report=report)
    if as_json:
        print_json(draft_content(draft))
        return
    show_draft(draft)
    print(f"written to {quote(folder)}")
    if all(baseline.name != name for baseline in task.task.baselines):
        print(f'task.toml does not name it yet: kind = "wheel", path = "baselines/{name}"')


def _restored_content(restored: Restored) -> dict[str, Any]:
    return {
        "package": restored.lock.package,
        "version": restored.lock.version,
        "lock_hash": restored.lock.content_hash,
        "files": len(restored.lock.files),
        "bytes": restored.bytes,
        **needs_content(restored.lock),
    }
