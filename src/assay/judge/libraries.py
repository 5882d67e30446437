"""The libraries that a runner has loaded, as the kernel lists them: the runner is not asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from assay.device.runners.zygote import RunnerHandle

_MOST_BYTES = 16 * 2**20
"""A process with torch has some 200 kB of maps; more than this was made to be read."""
_DELETED = " (deleted)"
_OWN_FOLDER = re.compile(r"/assay-runner-[^/]+/(?P<inside>.+)$")
_OWN_CACHE = "cache/"


def loaded_libraries(runner: RunnerHandle) -> frozenset[str] | None:
    """Paths of all files that are mapped to be executed; None where the kernel shows none."""
    try:
        with open(f"/proc/{runner.pid}/maps", "rb") as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return None
    # A process that has ended leaves its number to others.
    return frozenset(executable_files(text.splitlines())) if runner.alive() else None


def executable_files(lines: Iterable[str]) -> Iterable[str]:
    """
    >>> list(executable_files(["7f00-7f10 r-xp 00000000 08:01 12    /usr/lib/libm.so.6"]))
    ['/usr/lib/libm.so.6']
    """
    for line in lines:
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            yield fields[5].removesuffix(_DELETED)


def is_own(path: str, built: str | None) -> bool:
    """Whether a file is the solution's own build, or what its own compiler made."""
    found = _OWN_FOLDER.search(path)
    inside = found["inside"] if found is not None else ""
    return inside.startswith(_OWN_CACHE) or (built is not None and inside == built)


def names_of(paths: Iterable[str]) -> list[str]:
    """File names without their folders, which say who the user is."""
    return sorted({PurePosixPath(path).name for path in paths})
