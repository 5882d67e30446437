"""The import closure: which modules of a wheel an entry needs, itself and all they import.

Followed are imports of every kind but those under TYPE_CHECKING, also the ones in functions, names
that a lazy facade resolves from a literal table, and `import_module` with a literal; with an
f-string, every module that fits. Not followed are modules that are named in any other way: those
are given by `also`. A shim is read in place of the module that it stands for.
"""

from __future__ import annotations

import ast
import fnmatch
from collections import Counter
from collections import deque
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from assay.pack.size import mebibytes
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.snapshot.imports import Import
from assay.task.snapshot.imports import imports_of
from assay.task.snapshot.names import Names
from assay.task.snapshot.names import names_of
from assay.task.snapshot.published import Published
from assay.task.snapshot.published import parents
from assay.task.snapshot.stored import LARGEST_SNAPSHOT


@dataclass(frozen=True)
class Outside:
    """An import of somebody else's module."""

    module: str
    by: str
    line: int
    needed: bool
    """Whether importing the entry does it, and fails without."""


@dataclass(frozen=True)
class Closure:
    """Modules in the order in which they were reached, each with the one that first asked."""

    importers: Mapping[str, str | None]
    trees: Mapping[str, ast.Module]
    outside: tuple[Outside, ...]
    dangling: tuple[str, ...]
    """Imports that nothing in the wheel answers, with their place."""


def close(published: Published, roots: Iterable[str], shims: Mapping[str, bytes]) -> Closure:
    """The closure of some modules; `shims` has the source of each module that is replaced."""
    return _Walk(published, shims).closure(tuple(roots))


class _Walk:
    def __init__(self, published: Published, shims: Mapping[str, bytes]) -> None:
        self._published = published
        self._shims = shims
        self._trees: dict[str, ast.Module] = {}
        self._imports: dict[str, list[Import]] = {}
        self._names: dict[str, Names] = {}
        self._targets: dict[str, list[tuple[str, bool]]] = {}
        self._dangling: dict[str, None] = {}
        self._bytes = 0

    def closure(self, roots: tuple[str, ...]) -> Closure:
        importers = self._reach(roots, eager=False)
        eagerly = self._reach(roots, eager=True)
        outside = {
            Outside(imported.module, module, imported.line, imported.needed and module in eagerly)
            for module in importers
            for imported in self._imports[module]
            if self._is_outside(imported.module)
        }
        return Closure(
            importers,
            self._trees,
            tuple(sorted(outside, key=lambda o: (o.module, o.by, o.line))),
            tuple(self._dangling),
        )

    def _reach(self, roots: tuple[str, ...], *, eager: bool) -> dict[str, str | None]:
        """All modules that the roots lead to, by eager imports alone or by all of them."""
        found: dict[str, str | None] = {}
        waiting: deque[tuple[str, str | None]] = deque(
            (module, None) for root in roots for module in (*parents(root), root)
        )
        while waiting:
            module, importer = waiting.popleft()
            if module in found or module not in self._published.modules:
                continue
            found[module] = importer
            self._read(module, importer)
            for target, at_once in self._reached_from(module):
                if (at_once or not eager) and target not in found:
                    waiting.append((target, module))
            self._check_size(found)
        return found

    def _reached_from(self, module: str) -> list[tuple[str, bool]]:
        """The modules that a module's imports run, and whether they do so at once."""
        if module not in self._targets:
            self._targets[module] = [
                (target, imported.eager)
                for imported in self._imports[module]
                for target in dict.fromkeys(self._run_by(imported, module))
            ]
        return self._targets[module]

    def _check_size(self, found: Mapping[str, str | None]) -> None:
        """Ends a walk that has got into a server, and says how it got there."""
        if self._bytes <= LARGEST_SNAPSHOT:
            return
        sizes: Counter[str] = Counter()
        for module in found:
            path = self._published.modules[module]
            sizes[_region(module)] += self._published.entries[path].file_size
        heaviest = sizes.most_common(1)[0][0]
        way = chain(found, next(module for module in found if _region(module) == heaviest))
        raise UsageError(
            f"the closure is over {mebibytes(LARGEST_SNAPSHOT)}, most of it {heaviest}, by way of "
            f"{' > '.join(way)}",
            where=self._published.words,
            next_step="stop it on the way with --shim",
        )

    def _read(self, module: str, importer: str | None) -> None:
        if module in self._trees:
            return
        path = self._published.modules[module]
        source = self._shims.get(module)
        if source is None and not path.endswith(".py"):
            raise UsageError(
                f"{module} is machine code" + (f", and {importer} imports it" if importer else ""),
                where=self._published.words,
                next_step=f"declare --shim {module}=REASON",
            )
        if source is None:
            source = self._published.read(path)
            self._bytes += len(source)
        tree = parse_source(source, path)
        self._trees[module] = tree
        self._names[module] = names_of(tree)
        is_package = self._published.is_package(module)
        self._imports[module] = imports_of(tree, module, is_package=is_package)

    def _is_outside(self, module: str) -> bool:
        return module.partition(".")[0] not in self._published.tops

    def _run_by(self, imported: Import, by: str) -> Iterator[str]:
        """The modules that an import runs, packages on the way included."""
        if "*" in imported.module:
            for module in self._fitting(imported.module):
                yield from (*parents(module), module)
            return
        if self._is_outside(imported.module):
            return
        yield from (*parents(imported.module), imported.module)
        if imported.module not in self._known:
            self._dangling[f"{by}:{imported.line}: {imported.module}"] = None
            return
        for name in imported.names:
            yield from self._named(imported.module, name, by)

    def _fitting(self, pattern: str) -> list[str]:
        """The modules of an f-string; none if not even the package is literal."""
        if not pattern.partition("*")[0].partition(".")[2]:
            return []
        return [module for module in self._published.modules if fnmatch.fnmatch(module, pattern)]

    def _named(self, module: str, name: str, by: str) -> Iterator[str]:
        """What `from module import name` runs beside the module: a submodule, or a lazy owner."""
        if module in self._published.modules:
            self._read(module, by)
        names = self._names.get(module)
        if names is not None and module in self._shims and name in names.bound:
            return
        submodule = f"{module}.{name}"
        if submodule in self._known:
            yield submodule
        elif names is not None:
            package = module if self._published.is_package(module) else module.rpartition(".")[0]
            for owner in names.owners(name, package):
                if owner in self._published.modules and owner != module:
                    yield from (*parents(owner), owner)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._published.modules) | self._published.packages


def chain(importers: Mapping[str, str | None], module: str) -> list[str]:
    """How a module was first reached, from the entry on."""
    way = [module]
    while (importer := importers[way[0]]) is not None:
        way.insert(0, importer)
    return way


def _region(module: str) -> str:
    return ".".join(module.split(".")[:3])


def parse_source(source: bytes, path: str) -> ast.Module:
    """A module's tree; UsageError if it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"not Python: {quote(error)}", where=quote(path)) from None
