"""Making a lock: a pinned package, entries and shims become a list of files with their hashes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from pydantic import ValidationError

from assay.pack.size import mebibytes
from assay.pack.target import Target
from assay.spec.contract import Contract
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import BaselineLock
from assay.spec.lock import LockedEntry
from assay.spec.lock import Shim
from assay.spec.source import SourceFile
from assay.task.files import seal
from assay.task.snapshot.closure import Closure
from assay.task.snapshot.closure import close
from assay.task.snapshot.entries import check_entries
from assay.task.snapshot.entries import check_shims
from assay.task.snapshot.entries import read_shims
from assay.task.snapshot.entries import roots_of
from assay.task.snapshot.entries import shim_path
from assay.task.snapshot.native import native_files
from assay.task.snapshot.obtain import obtain
from assay.task.snapshot.place import put_in_place
from assay.task.snapshot.published import Published
from assay.task.snapshot.published import open_wheel
from assay.task.snapshot.requirements import Needs
from assay.task.snapshot.requirements import Providers
from assay.task.snapshot.requirements import needs_of
from assay.task.snapshot.stored import LARGEST_SNAPSHOT
from assay.task.snapshot.stored import read_lock

STEPS = ("the wheel", "its imports", "writing")


@dataclass(frozen=True)
class Recipe:
    """What a lock is made of; all the rest is worked out from the wheel."""

    package: str
    version: str
    entries: Mapping[str, str]
    """`module:attribute` by function of the task."""
    shims: Mapping[str, str] = field(default_factory=dict)
    """The reason by module."""
    also: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Distributions that a call needs, though no module imports them by itself."""
    provides: Mapping[str, str] = field(default_factory=dict)
    """The distribution by module, where neither name nor metadata tells."""


@dataclass(frozen=True)
class Draft:
    """A lock with the bytes that it names, before anything is written."""

    lock: BaselineLock
    files: Mapping[str, bytes]
    closure: Closure

    @property
    def bytes(self) -> int:
        return sum(map(len, self.files.values()))


def snapshot(
    folder: Path,
    recipe: Recipe,
    *,
    target: Target,
    wheels: Path | None = None,
    report: Callable[[str], None] = lambda step: None,
) -> Draft:
    """Write a new lock and its snapshot into a baseline's folder; all of it or nothing.

    Of a lock that is there already, what people wrote into it is kept.
    """
    before = read_lock(folder) if (folder / LOCK_FILE).is_file() else None
    draft = draw_up(folder, recipe, target=target, wheels=wheels, before=before, report=report)
    report(STEPS[2])
    put_in_place(folder, draft.files, draft.lock)
    return draft


def draw_up(
    folder: Path,
    recipe: Recipe,
    *,
    target: Target,
    wheels: Path | None,
    before: BaselineLock | None,
    report: Callable[[str], None] = lambda step: None,
) -> Draft:
    """The lock that the recipe gives; nothing is written."""
    with tempfile.TemporaryDirectory(prefix="assay-snapshot-") as scratch:
        report(STEPS[0])
        path = obtain(
            recipe.package, recipe.version, wheels=wheels, target=target, scratch=Path(scratch)
        )
        with open_wheel(path, recipe.package, recipe.version) as published:
            report(STEPS[1])
            return _draft(
                folder, published, recipe, Providers.known(wheels, recipe.provides), target, before
            )


def _draft(
    folder: Path,
    published: Published,
    recipe: Recipe,
    providers: Providers,
    target: Target,
    before: BaselineLock | None,
) -> Draft:
    check_entries(published, recipe.entries)
    roots, named = roots_of(published, recipe.entries.values(), recipe.also)
    shims = read_shims(folder, published, recipe.shims)
    closure = close(published, roots, shims)
    check_shims(published, closure, shims, recipe.entries.values())
    replaced = {published.modules[module] for module in shims}
    paths = {published.modules[module] for module in closure.importers} - replaced
    paths |= native_files(published, closure.trees) | set(named)
    files = {path: published.read(path) for path in sorted(paths)}
    _check_size(published, files)
    needs = needs_of(published, closure.outside, providers, target.markers, recipe.needs)
    lock = _lock(published, recipe, files, shims, needs, before)
    return Draft(lock, files, closure)


def _shims(published: Published, recipe: Recipe, sources: Mapping[str, bytes]) -> tuple[Shim, ...]:
    return tuple(
        Shim(
            module=module,
            file=seal(shim_path(published, module), source),
            reason=recipe.shims[module],
            replaces=_sealed(published, published.modules[module]).sha256,
        )
        for module, source in sorted(sources.items())
    )


def _sealed(published: Published, path: str) -> SourceFile:
    return seal(path, published.read(path))


def _lock(
    published: Published,
    recipe: Recipe,
    files: Mapping[str, bytes],
    shims: Mapping[str, bytes],
    needs: Needs,
    before: BaselineLock | None,
) -> BaselineLock:
    try:
        return BaselineLock(
            package=published.package,
            version=published.version,
            wheel=published.wheel,
            wheel_sha256=published.sha256,
            entries={
                function: _entry(entry, None if before is None else before.entries.get(function))
                for function, entry in recipe.entries.items()
            },
            files=tuple(seal(path, data) for path, data in files.items()),
            shims=_shims(published, recipe, shims),
            requires=needs.requires,
            optional=needs.optional,
            also=recipe.also,
            needs=recipe.needs,
            provides=dict(recipe.provides),
            environment={} if before is None else before.environment,
            contract=Contract() if before is None else before.contract,
            note=None if before is None else before.note,
        ).sealed()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UsageError(
            f"no lock can say this: {quote(first['msg'])}",
            where=quote(".".join(map(str, first["loc"]))),
        ) from None


def _entry(entry: str, before: LockedEntry | None) -> LockedEntry:
    if before is None:
        return LockedEntry(entry=entry)
    return LockedEntry(
        entry=entry, kernels=before.kernels, dtypes=before.dtypes, layouts=before.layouts
    )


def _check_size(published: Published, files: Mapping[str, bytes]) -> None:
    together = sum(map(len, files.values()))
    if together > LARGEST_SNAPSHOT:
        largest = max(files, key=lambda path: len(files[path]))
        raise UsageError(
            f"{len(files)} files are {mebibytes(together)}, over {mebibytes(LARGEST_SNAPSHOT)}; "
            f"the largest is {quote(largest)}",
            where=published.words,
            next_step="stop the closure with --shim at what drags it in",
        )
