"""Which baselines out of wheels can run here: their snapshots, and what these import."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import assay
from assay.spec.documents import parse_document
from assay.spec.errors import UsageError
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SNAPSHOT
from assay.spec.lock import BaselineLock
from assay.spec.noun import sha256_hex

_PACKAGE = Path(assay.__file__).parent
_TASKS = "tasks"
# What these ask for in turn came with them.
_HOSTS_OWN = {"torch", "triton", "numpy"}
# cuda-python is an empty package that asks for the bindings, and torch brings just those.
_MODULES = {"cuda-python": "cuda.bindings", "cuda-bindings": "cuda.bindings"}
# Distributions that are asked for because of the program that they bring.
_PROGRAMS = {"ninja"}


def wheel_baselines(
    roots: Iterable[Path] | None = None,
) -> tuple[list[str], dict[str, list[str]]]:
    """The baselines that are ready, and the others by what they lack."""
    ready: list[str] = []
    wanting: defaultdict[str, list[str]] = defaultdict(list)
    for root in _roots() if roots is None else roots:
        for lock in sorted(root.rglob(LOCK_FILE)):
            inner = lock.parent.relative_to(root).parts
            if SNAPSHOT not in inner:
                name = "/".join(part for part in inner if part != "baselines")
                reason = _lacking(lock.parent)
                (wanting[reason] if reason else ready).append(name)
    return ready, dict(wanting)


def _roots() -> Iterator[Path]:
    """Shipped tasks, and those beside `site` where this package runs out of a pack."""
    yield _PACKAGE / _TASKS
    pack = _PACKAGE.parent.parent
    if _PACKAGE.parent.name == "site" and (pack / "manifest.json").is_file():
        yield pack / _TASKS


def _lacking(folder: Path) -> str:
    """The first thing that keeps a baseline from running; empty if nothing does."""
    where = str(folder / LOCK_FILE)
    try:
        lock = parse_document(json.loads((folder / LOCK_FILE).read_bytes()), BaselineLock, where)
    except (OSError, ValueError, UsageError):
        return "lock cannot be read"
    if not (folder / SNAPSHOT).is_dir():
        return "no snapshot"
    for file in lock.files:
        try:
            data = (folder / SNAPSHOT / file.path).read_bytes()
        except OSError:
            return "files of the snapshot missing"
        if sha256_hex(data) != file.sha256:
            return "a snapshot that differs from its lock"
    missing = ", ".join(sorted(missing_packages(lock.requires)))
    return f"no {missing} here" if missing else ""


def missing_packages(requires: Iterable[str]) -> set[str]:
    """Names of distributions that are asked for, directly or in turn, and are not here.

    Another version than was asked for will do: what a wheel pins is more than what its files
    need, and a pack may bring another on purpose.
    """
    missing: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(text, frozenset[str]()) for text in requires]
    while waiting:
        text, asked_extras = waiting.pop()
        need = _applicable(text, asked_extras)
        if need is None:
            continue
        name, extras = canonicalize_name(need.name), frozenset(need.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            in_turn = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            if not _is_here(name):
                missing.add(name)
            continue
        if name not in _HOSTS_OWN:
            waiting += [(each, extras) for each in in_turn]
    return missing


def _applicable(text: str, extras: frozenset[str]) -> Requirement | None:
    """The requirement, if it is one and its marker holds here."""
    try:
        need = Requirement(text)
    except InvalidRequirement:
        return None
    holds = need.marker is None or any(
        need.marker.evaluate({"extra": extra}) for extra in extras or {""}
    )
    return need if holds else None


def _is_here(name: str) -> bool:
    """A build from source or a program of the system has no metadata and may still be there."""
    if name in _PROGRAMS:
        return shutil.which(name) is not None
    try:
        return importlib.util.find_spec(_MODULES.get(name, name.replace("-", "_"))) is not None
    except (ImportError, ValueError):
        return False
