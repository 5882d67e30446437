"""The host that a pack is made for: its Python, its processor and the age of its C library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from assay.spec.errors import UsageError
from assay.spec.errors import quote

DEFAULT_PYTHON = "3.12"
DEFAULT_PLATFORM = "manylinux_2_28_x86_64"

_LEAST_MINOR = 11
_PYTHON = re.compile(r"3\.(\d{1,2})")
_PLATFORM = re.compile(r"(?:manylinux|musllinux|linux)[a-z0-9_]*_(x86_64|aarch64)")
_GLIBC = re.compile(r"manylinux_2_(\d{1,2})_(x86_64|aarch64)")
# Names from before a tag said its glibc; the aarch64 ports began with the first of them.
_OLD_NAMES = {"manylinux2014": 17, "manylinux2010": 12, "manylinux1": 5}
_OLDEST_GLIBC = {"x86_64": 5, "aarch64": 17}


@dataclass(frozen=True)
class Target:
    python: str
    platforms: tuple[str, ...]
    machine: str

    @classmethod
    def of(cls, python: str, platforms: Sequence[str]) -> Target:
        """The target that these words name; UsageError for one that Assay does not run on."""
        match = _PYTHON.fullmatch(python)
        if match is None or int(match[1]) < _LEAST_MINOR:
            raise UsageError(
                f"{quote(python)} is no Python that Assay runs on",
                where="--python",
                next_step=f"write 3.{_LEAST_MINOR} or newer, without a third number",
            )
        machines = {_machine(platform) for platform in platforms}
        if len(machines) != 1:
            raise UsageError("one kind of processor a pack, please", where="--platform")
        return cls(python, tuple(dict.fromkeys(platforms)), machines.pop())

    @property
    def tags(self) -> tuple[str, ...]:
        """Every platform tag whose wheels run there: a newer glibc runs what an older one does.

        pip takes each tag by itself and would pass by a wheel that asks for less.
        """
        every = (tag for platform in self.platforms for tag in _with_older(platform))
        return tuple(dict.fromkeys(every))

    @property
    def markers(self) -> dict[str, str]:
        """What environment markers see on the target; pip asks the Python that it runs under."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


def _machine(platform: str) -> str:
    match = _PLATFORM.fullmatch(platform)
    if match is None:
        raise UsageError(
            f"{quote(platform)} is no platform that Assay runs on",
            where="--platform",
            next_step="as manylinux_2_28_x86_64 or manylinux_2_28_aarch64",
        )
    return match[1]


def _with_older(platform: str) -> Iterator[str]:
    yield platform
    old_name, _, machine = platform.partition("_")
    match = _GLIBC.fullmatch(platform)
    if match is not None:
        newest, machine = int(match[1]), match[2]
    elif old_name in _OLD_NAMES:
        newest = _OLD_NAMES[old_name]
    else:
        return
    names = {minor: name for name, minor in _OLD_NAMES.items()}
    for minor in range(newest, _OLDEST_GLIBC[machine] - 1, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor in names:
            yield f"{names[minor]}_{machine}"
