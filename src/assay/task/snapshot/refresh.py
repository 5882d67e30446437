"""Refreshing: the same entries and shims against another version, and what is different there."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.pack.target import Target
from assay.spec.lock import BaselineLock
from assay.task.snapshot.make import STEPS
from assay.task.snapshot.make import Draft
from assay.task.snapshot.make import Recipe
from assay.task.snapshot.make import draw_up
from assay.task.snapshot.place import put_in_place
from assay.task.snapshot.stored import read_lock


@dataclass(frozen=True)
class Changes:
    """From one lock to the next, by path or module."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    changed: tuple[str, ...]
    shims_to_read: tuple[str, ...]
    """Modules that changed behind their shims."""
    requires: tuple[str, ...]
    """Requirements that are new, or ask for another range."""

    @property
    def none(self) -> bool:
        return not (self.came or self.went or self.changed or self.shims_to_read)


@dataclass(frozen=True)
class Refreshed:
    before: BaselineLock
    draft: Draft
    changes: Changes


def refresh(
    folder: Path,
    version: str,
    *,
    target: Target,
    wheels: Path | None = None,
    provides: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    report: Callable[[str], None] = lambda step: None,
) -> Refreshed:
    """Pin the lock's entries in another version of its package, and write lock and snapshot.

    An entry that is gone, or a shim that nothing imports any more, ends it with nothing written;
    `without` names shims to leave out.
    """
    before = read_lock(folder)
    recipe = Recipe(
        package=before.package,
        version=version,
        entries={name: entry.entry for name, entry in before.entries.items()},
        shims={s.module: s.reason for s in before.shims if s.module not in without},
        also=before.also,
        needs=before.needs,
        provides={**before.provides, **(provides or {})},
    )
    draft = draw_up(folder, recipe, target=target, wheels=wheels, before=before, report=report)
    report(STEPS[2])
    put_in_place(folder, draft.files, draft.lock)
    return Refreshed(before, draft, changes(before, draft.lock))


def changes(before: BaselineLock, after: BaselineLock) -> Changes:
    old = {file.path: file.sha256 for file in before.files}
    new = {file.path: file.sha256 for file in after.files}
    behind = {shim.module: shim.replaces for shim in before.shims}
    return Changes(
        came=tuple(sorted(new.keys() - old.keys())),
        went=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(path for path in old.keys() & new.keys() if old[path] != new[path])),
        shims_to_read=tuple(
            shim.module
            for shim in after.shims
            if shim.module in behind and shim.replaces != behind[shim.module]
        ),
        requires=tuple(text for text in after.requires if text not in before.requires),
    )
