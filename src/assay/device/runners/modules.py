"""The referee's end of the question which modules of a package a runner has loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.device.runners.process import CALL_SECONDS
from assay.device.runners.process import RunnerProcess

_MOST = 20_000


@dataclass(frozen=True)
class Module:
    """A module that is loaded, and where it came from."""

    name: str
    file: str | None
    """None for a namespace, which has none, and for what is built in."""
    inside: str | None
    """The file relative to the runner's own folder, where it lies in there."""


def loaded_modules(process: RunnerProcess, packages: Iterable[str]) -> tuple[Module, ...]:
    """Modules of these packages; ValueError where the answer is none."""
    reply = process.runner.ask({"do": "modules", "packages": sorted(packages)}, CALL_SECONDS)
    folder, told = reply.get("folder"), reply.get("modules")
    if not isinstance(folder, str) or not isinstance(told, list) or len(told) > _MOST:
        raise ValueError("no list of modules")
    return tuple(_module(one, PurePosixPath(folder)) for one in told)


def _module(told: object, folder: PurePosixPath) -> Module:
    if not isinstance(told, list) or len(told) != 2 or not isinstance(told[0], str):
        raise ValueError("something that is no module")
    name, file = told
    if not isinstance(file, str):
        return Module(name, None, None)
    path = PurePosixPath(file)
    inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None
    return Module(name, file, inside)
