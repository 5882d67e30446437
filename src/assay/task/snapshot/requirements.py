"""Whose packages a closure needs: distributions, with the range that the wheel asks for.

Required is what importing an entry imports, and cannot go on without. What is imported in functions
alone, or where a failure is caught, is optional: it may be needed by a call, which no reading of
the source can tell; `needs` moves it to the required ones.
"""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename
from packaging.utils import canonicalize_name
from packaging.utils import parse_wheel_filename

from assay.spec.errors import UsageError
from assay.task.snapshot.closure import Outside
from assay.task.snapshot.published import Published


@dataclass(frozen=True)
class Needs:
    requires: tuple[str, ...]
    optional: tuple[str, ...]


@dataclass(frozen=True)
class Providers:
    """Which distributions bring which top-level modules, as far as is known here."""

    modules: Mapping[str, frozenset[str]]
    stated: Mapping[str, str]
    """What the user says: distribution by module."""

    @classmethod
    def known(cls, wheels: Path | None, stated: Mapping[str, str]) -> Providers:
        """Of what is installed, and of the wheels in a folder."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for module, names in importlib.metadata.packages_distributions().items():
            found[module] |= {canonicalize_name(name) for name in names}
        for path in sorted(wheels.glob("*.whl")) if wheels is not None else ():
            for module in _tops(path):
                found[module].add(_distribution(path))
        return cls({module: frozenset(names) for module, names in found.items()}, stated)

    def of(self, module: str, declared: Iterable[str]) -> str | None:
        """The distribution that brings a module; one that the wheel declares goes first."""
        parts = module.split(".")
        stated = [self.stated[p] for p in _prefixes(parts, ".") if p in self.stated]
        if stated:
            return canonicalize_name(stated[0])
        names = [canonicalize_name(name) for name in _prefixes(parts, "-")]
        known = self.modules.get(parts[0], frozenset())
        asked = set(declared)
        order = (
            *(name for name in names if name in asked),
            *sorted(known & asked),
            *(name for name in names if name in known),
            *sorted(known),
        )
        return next(iter(order), None)


def needs_of(
    published: Published,
    outside: Sequence[Outside],
    providers: Providers,
    markers: Mapping[str, str],
    extra: Iterable[str] = (),
) -> Needs:
    """Required and optional distributions; UsageError for a module that nobody brings."""
    declared = _declared(published, markers)
    required: dict[str, str] = {
        name: str(declared.get(name, name)) for name in map(canonicalize_name, extra)
    }
    optional: dict[str, str] = {}
    for item in _foreign(outside):
        name = providers.of(item.module, declared)
        if name is None and item.needed:
            raise UsageError(
                f"{item.by} imports {item.module}, which is not installed, and no requirement "
                f"of {published.words} is known to bring it",
                where=f"line {item.line}",
                next_step=f"state it with --provides {item.module.partition('.')[0]}=DISTRIBUTION",
            )
        key = item.module.partition(".")[0] if name is None else name
        (required if item.needed else optional)[key] = str(declared.get(key, key))
    left = [text for key, text in optional.items() if key not in required]
    return Needs(tuple(sorted(required.values())), tuple(sorted(left)))


def _foreign(outside: Iterable[Outside]) -> Iterator[Outside]:
    for item in outside:
        top = item.module.partition(".")[0]
        if top not in sys.stdlib_module_names and "*" not in item.module:
            yield item


def _declared(published: Published, markers: Mapping[str, str]) -> dict[str, Requirement]:
    """What the metadata asks for by name; without an extra where both ways are there."""
    found: dict[str, Requirement] = {}
    for text in published.requires:
        try:
            need = Requirement(text)
        except InvalidRequirement:
            continue
        holds = need.marker is None or need.marker.evaluate({**markers, "extra": ""})
        name = canonicalize_name(need.name)
        if holds or name not in found:
            need.marker = None
            found[name] = need
    return found


def _prefixes(parts: Sequence[str], joint: str) -> list[str]:
    """The longest first."""
    return [joint.join(parts[:count]) for count in range(len(parts), 0, -1)]


def _distribution(path: Path) -> str:
    try:
        return parse_wheel_filename(path.name)[0]
    except InvalidWheelFilename:
        return canonicalize_name(path.name.partition("-")[0])


def _tops(path: Path) -> set[str]:
    """The modules at the top of a wheel; none of a file that is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            firsts = {name.partition("/")[0] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError):
        return set()
    return {first.partition(".")[0] for first in firsts if "-" not in first}
