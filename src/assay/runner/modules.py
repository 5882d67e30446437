"""Modules: which ones of a package this process has loaded, and from which file each came."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType


def loaded(packages: Iterable[str]) -> list[list[str | None]]:
    """Name and file of each module of these packages, sorted; a namespace has no file."""
    roots = frozenset(packages)
    found: list[list[str | None]] = []
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in roots and module is not None:
            found.append([name, _file(module)])
    return found


def _file(module: ModuleType) -> str | None:
    """What the module itself says; asked of its dictionary, so that no code of it runs."""
    known = getattr(module, "__dict__", {})  # some put an object without one in a module's place
    file, spec = known.get("__file__"), known.get("__spec__")
    if file is None and isinstance(spec, ModuleSpec) and spec.has_location:
        file = spec.origin
    return os.path.realpath(file) if isinstance(file, str) else None
