"""Where a wheel comes from: a folder of wheels, or the ordinary package client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import InvalidWheelFilename
from packaging.utils import canonicalize_name
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion
from packaging.version import Version

from assay.pack.client import Client
from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.target import Target
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import BaselineLock

_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)==([A-Za-z0-9][A-Za-z0-9_.+!-]*)")
_CPYTHON = re.compile(r"cp3(\d{1,2})")
_BY_FOLDER = "put the wheel into a folder and name that with --wheels"


def read_pin(text: str) -> tuple[str, str]:
    """`package==version`, taken apart."""
    match = _PINNED.fullmatch(text)
    if match is None or not _is_version(match[2]):
        raise UsageError(
            f"{quote(text)} is no pinned package",
            where="--package",
            next_step="write NAME==VERSION",
        )
    return match[1], match[2]


def obtain(
    package: str, version: str, *, wheels: Path | None, target: Target, scratch: Path
) -> Path:
    """The wheel of that very version; UsageError says what there is instead."""
    if wheels is not None:
        return _from_folder(package, version, wheels, target)
    try:
        Client(target, None, scratch).choose([f"{package}=={version}"])
    except UsageError as error:
        raise UsageError(error.what, where=error.where, next_step=_BY_FOLDER) from None
    for path, _ in _wheels_of(package, scratch):
        return path
    raise UsageError(f"no wheel of {package} {version}", next_step=_BY_FOLDER)


def obtain_locked(lock: BaselineLock, *, wheels: Path | None, scratch: Path) -> Path:
    """The very wheel that a lock names."""
    if wheels is not None:
        _check_folder(wheels)
        if (wheels / lock.wheel).is_file():
            return wheels / lock.wheel
    return obtain(
        lock.package, lock.version, wheels=wheels, target=target_of(lock.wheel), scratch=scratch
    )


def target_of(wheel: str) -> Target:
    """A host that takes a wheel of that name, whatever this one is."""
    try:
        tags = parse_wheel_filename(wheel)[3]
    except InvalidWheelFilename as error:
        raise UsageError(f"no name of a wheel: {quote(error)}") from None
    pythons = sorted(m[1] for tag in tags if (m := _CPYTHON.fullmatch(tag.interpreter)))
    platforms = sorted({tag.platform for tag in tags} - {"any"})
    python = f"3.{pythons[0]}" if pythons else DEFAULT_PYTHON
    return Target.of(python, platforms or [DEFAULT_PLATFORM])


def _from_folder(package: str, version: str, folder: Path, target: Target) -> Path:
    _check_folder(folder)
    found = list(_wheels_of(package, folder))
    right = [path for path, its in found if its == Version(version)]
    if not right:
        there = ", ".join(sorted({str(its) for _, its in found}))
        raise UsageError(
            f"no wheel of {package} {version}",
            where=quote(folder),
            next_step=f"there is {package} {there}" if there else "fetch it with pip download",
        )
    return right[0] if len(right) == 1 else _fitting(right, target, folder)


def _fitting(paths: Sequence[Path], target: Target, folder: Path) -> Path:
    """One of several builds: the first that runs on the target."""
    for tag in (*target.tags, "any"):
        for path in paths:
            if any(its.platform == tag for its in parse_wheel_filename(path.name)[3]):
                return path
    raise UsageError(
        f"several wheels, and none for {', '.join(target.platforms)}",
        where=quote(folder),
        next_step=f"--platform, for {', '.join(quote(path.name) for path in paths)}",
    )


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError("not a folder", where=quote(folder), next_step="see --wheels")


def _wheels_of(package: str, folder: Path) -> Iterator[tuple[Path, Version]]:
    for path in sorted(folder.glob("*.whl")):
        try:
            name, version, _, _ = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        if name == canonicalize_name(package):
            yield path, version


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
