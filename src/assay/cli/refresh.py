"""`assay task refresh`: a baseline in a newer version of its package."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer

from assay.cli._locks import Platform
from assay.cli._locks import Provides
from assay.cli._locks import Python
from assay.cli._locks import Wheels
from assay.cli._locks import draft_content
from assay.cli._locks import pairs
from assay.cli._locks import steps
from assay.cli._options import AsJson
from assay.cli._options import DeviceName
from assay.cli._options import read_budget
from assay.cli._progress import progress_bar
from assay.cli._show import show_verdict
from assay.cli._show import terminal
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.target import Target
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.rules import Budget
from assay.spec.verdict import TaskVerdict
from assay.task import LoadedSolution
from assay.task import load_baseline
from assay.task.snapshot.baselines import Pinned
from assay.task.snapshot.baselines import pinned_baselines

if TYPE_CHECKING:
    from assay.task.snapshot.refresh import Refreshed


def refresh(
    address: Annotated[
        str, typer.Argument(metavar="TASK/BASELINE", help="A baseline out of a wheel.")
    ],
    version: Annotated[str, typer.Option(help="The version to pin.")],
    without: Annotated[
        list[str] | None, typer.Option(help="A module whose shim is not needed any more.")
    ] = None,
    provides: Provides = None,
    wheels: Wheels = None,
    python: Python = DEFAULT_PYTHON,
    platform: Platform = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Then judge the newer version against the older one.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="60 s of device time at most.")] = False,
    device: DeviceName = None,
    as_json: AsJson = False,
) -> None:
    """Pin a baseline in another version of its package and say what changed."""
    from assay.task.snapshot.make import STEPS
    from assay.task.snapshot.obtain import read_pin
    from assay.task.snapshot.refresh import refresh as refresh_lock

    found = pinned_baselines(address)
    if len(found) > 1:
        names = ", ".join(baseline.name for baseline in found)
        raise UsageError("name one baseline", where=quote(address), next_step=f"one of {names}")
    read_pin(f"package=={version}")
    pinned = found[0]
    # Read now: the files are replaced by the newer ones.
    before = load_baseline(pinned.task, pinned.name) if judge else None
    with steps(STEPS, as_json) as report:
        refreshed = refresh_lock(
            pinned.folder,
            version,
            target=Target.of(python, platform or [DEFAULT_PLATFORM]),
            wheels=wheels,
            provides=pairs(provides, "--provides", "MODULE=DISTRIBUTION"),
            without=tuple(without or ()),
            report=report,
        )
    if not as_json:
        _show_refreshed(refreshed)
    verdict = (
        None
        if before is None
        else _judged(pinned, before, read_budget(None, quick), device, as_json)
    )
    if as_json:
        shown = None if verdict is None else verdict.content()
        print_json({**_refreshed_content(refreshed), "verdict": shown})
    elif verdict is not None:
        show_verdict(terminal(), verdict)


def _judged(
    pinned: Pinned, before: LoadedSolution, budget: Budget, device: str | None, quiet: bool
) -> TaskVerdict:
    from assay.task.snapshot.speed import compare

    after = load_baseline(pinned.task, pinned.name)
    with progress_bar(quiet) as report:
        return compare(pinned.task, before, after, device=device, budget=budget, report=report)


def _show_refreshed(refreshed: Refreshed) -> None:
    changes = refreshed.changes
    before, after = refreshed.before, refreshed.draft.lock
    print(f"{after.package} {before.version} to {after.version}")
    rows = [
        *(("came", path) for path in changes.came),
        *(("went", path) for path in changes.went),
        *(("changed", path) for path in changes.changed),
        *(("changed behind its shim", module) for module in changes.shims_to_read),
        *(("now needs", text) for text in changes.requires),
    ]
    if rows:
        print_table(("what", "which"), rows)
    same = len(after.files) - len(changes.came) - len(changes.changed)
    print(f"{same} of {len(after.files)} files are the same, bit for bit")


def _refreshed_content(refreshed: Refreshed) -> dict[str, Any]:
    changes = refreshed.changes
    return {
        "before": refreshed.before.version,
        "came": list(changes.came),
        "went": list(changes.went),
        "changed": list(changes.changed),
        "changed_behind_shims": list(changes.shims_to_read),
        "now_needs": list(changes.requires),
        **draft_content(refreshed.draft),
    }
