"""Entry points and shims: does the wheel have what they name?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import SHIMS
from assay.task.files import read_inside
from assay.task.snapshot.closure import Closure
from assay.task.snapshot.closure import parse_source
from assay.task.snapshot.names import names_of
from assay.task.snapshot.published import Published


def missing_entry(published: Published, entry: str) -> UsageError | None:
    """What is wrong with `module:attribute`, if anything is."""
    module, _, attribute = entry.partition(":")
    if not attribute:
        return UsageError(f"{quote(entry)} is not MODULE:ATTRIBUTE", where="--entry")
    path = published.modules.get(module)
    if path is None or not path.endswith(".py"):
        return _unknown(published, "module", module, published.modules)
    tree = parse_source(published.read(path), path)
    names = names_of(tree)
    if names.has(attribute):
        return None
    return _unknown(published, "entry", entry, [f"{module}:{name}" for name in sorted(names.bound)])


def check_entries(published: Published, entries: Mapping[str, str]) -> None:
    for entry in entries.values():
        error = missing_entry(published, entry)
        if error is not None:
            raise error


def roots_of(
    published: Published, entries: Iterable[str], also: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The modules that a closure starts from, and the files that are named beside them."""
    modules = list(dict.fromkeys(entry.partition(":")[0] for entry in entries))
    files = []
    for name in also:
        if name in published.modules:
            modules.append(name)
        elif name in published.entries:
            files.append(name)
        else:
            raise _unknown(published, "module or file", name, published.modules)
    return modules, files


def read_shims(folder: Path, published: Published, modules: Iterable[str]) -> dict[str, bytes]:
    """The source of each shim, from its place below `shims`."""
    found = {}
    for module in modules:
        path = published.modules.get(module)
        if path is None:
            raise _unknown(published, "module to stand in for", module, published.modules)
        path = shim_path(published, module)
        if not (folder / SHIMS / path).is_file():
            raise UsageError(
                f"the shim for {module} is not written",
                where=quote(folder / SHIMS / path),
                next_step="write the few names that are used of it there",
            )
        found[module] = read_inside(folder, f"{SHIMS}/{path}")
    return found


def shim_path(published: Published, module: str) -> str:
    """Where a shim lies below `shims`: the module's own path, in Python whatever the module is."""
    path = published.modules[module]
    return path if path.endswith(".py") else f"{module.replace('.', '/')}.py"


def check_shims(
    published: Published, closure: Closure, shims: Iterable[str], entries: Iterable[str]
) -> None:
    """A shim that nothing imports says something untrue; so does one in the entry's own place."""
    roots = {entry.partition(":")[0] for entry in entries}
    for module in shims:
        if module in roots:
            raise UsageError(f"a shim for {module}, which is an entry itself", where="--shim")
        if module not in closure.importers:
            raise UsageError(
                f"a shim for {module}, which nothing in the closure imports",
                where=f"{published.words}: --shim",
                next_step="leave it out",
            )


def _unknown(published: Published, what: str, name: str, known: Iterable[str]) -> UsageError:
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return UsageError(
        f"there is no {what} {quote(name)}",
        where=published.words,
        next_step=f"did you mean {' or '.join(map(quote, close))}" if close else "",
    )
