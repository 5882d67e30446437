"""Builds solutions: what must be compiled is compiled for the device, both sides alike."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from importlib import resources
from pathlib import Path

from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners.program import Program
from assay.device.runners.target import Target
from assay.judge.case import Contender
from assay.judge.confined import Ended
from assay.judge.confined import run_confined
from assay.judge.toolchain import HOST
from assay.judge.toolchain import Resources
from assay.judge.toolchain import Toolchain
from assay.judge.toolchain import demangled
from assay.judge.toolchain import read_resources
from assay.judge.toolchain import toolchain_for
from assay.judge.toolchain import toolchain_of
from assay.runner.confine import OUT_OF_TIME
from assay.runner.confine import SIGNALLED
from assay.runner.landlock import toolkit_of
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.task import Task

LIBRARY = "library.so"
_ERROR = re.compile(r"\b(error|fatal)\b[^:]*:")


@dataclass(frozen=True)
class Build:
    """A program, and how it was made; the flags stand in the evidence."""

    program: Program
    compiler: str
    flags: tuple[str, ...]
    resources: Mapping[str, Resources] = field(default_factory=dict)
    """What each kernel takes, by name, where the compiler says so."""
    held: Mapping[str, bool] = field(default_factory=dict)
    """What held the compiler, where there was one."""


@dataclass(frozen=True)
class Compiled:
    """The bytes of a shared library, and what the compiler said about it."""

    library: bytes
    log: str
    held: Mapping[str, bool]
    """What held the compiler."""


def compiler(target: Target) -> str | None:
    """The compiler for a kind of device on this host, if it has one."""
    toolchain = toolchain_for(target)
    return toolchain.find() if toolchain is not None else None


def flags_for(contenders: Iterable[Contender], target: Target) -> tuple[str, ...]:
    """All flags that any contender asks for: each side is built with the same."""
    toolchain = toolchain_for(target)
    if toolchain is None:
        return ()
    wanted: dict[str, None] = {}
    for contender in contenders:
        solution = contender.solution
        if solution.language is not toolchain.language:
            continue
        for flag in solution.flags:
            if not toolchain.allows(flag):
                raise UsageError(f"flag {quote(flag)} of {solution.name} is not allowed")
            wanted[flag] = None
    return (*toolchain.base_flags(target), *wanted)


def check_flags(candidate: Contender, baseline: Contender) -> None:
    """Refuse flags that change answers unless the baseline has them, and flags that are none."""
    toolchain = toolchain_of(candidate.solution.language) or HOST
    _refuse_unknown(toolchain, candidate.solution.flags)
    known = toolchain.fast_math_of(baseline.solution.flags)
    for plain, flag in toolchain.fast_math_of(candidate.solution.flags).items():
        if plain not in known:
            raise violation(
                ViolationKind.BUILD_FLAGS, f"{flag}, which the baseline is built without"
            )
    pattern = toolchain.fast_math_in_source
    if any(pattern.search(source) for source in baseline.sources.values()):
        return
    for path, source in candidate.sources.items():
        if pattern.search(source):
            raise violation(ViolationKind.BUILD_FLAGS, f"{path} switches fast-math on")


def _refuse_unknown(toolchain: Toolchain, flags: Iterable[str]) -> None:
    for flag in flags:
        if not toolchain.allows(flag):
            raise violation(ViolationKind.BUILD_FLAGS, f"flag {quote(flag)} is not allowed")


def build(task: Task, contender: Contender, flags: tuple[str, ...], target: Target) -> Build:
    """The contender as a program; raises ProcessFailure if it does not compile."""
    solution = contender.solution
    toolchain = toolchain_of(solution.language)
    if toolchain is None:
        program = Program(task, solution, contender.sources, solution.entry, lock=contender.lock)
        return Build(program, "", ())
    if toolchain.kind != target.kind:
        raise UsageError(
            f"solution {solution.name} is {toolchain.shown}, which needs a {toolchain.kind} device"
        )
    definitions = tuple(f"-D{name}={_literal(value)}" for name, value in solution.config.items())
    _refuse_unknown(toolchain, definitions)
    made = compile_library(contender.sources, solution.entry, (*flags, *definitions), toolchain)
    return Build(
        Program(task, solution, {LIBRARY: made.library}, LIBRARY),
        _required(toolchain),
        (*flags, *definitions),
        demangled(read_resources(made.log)),
        made.held,
    )


def _literal(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _required(toolchain: Toolchain) -> str:
    found = toolchain.find()
    if found is None:
        raise UnavailableError(toolchain.what_is_missing, next_step=toolchain.how_to_get_it)
    return found


def compile_library(
    sources: Mapping[str, bytes],
    entry: str,
    flags: tuple[str, ...],
    toolchain: Toolchain,
    *,
    without: Sequence[str] = (),
) -> Compiled:
    """A shared library, built in a folder of its own that is removed again.

    The compiler is confined as a runner is: what a source includes is what it could read.
    """
    tool = _required(toolchain)
    if entry.startswith("-"):
        raise violation(ViolationKind.BUILD_FLAGS, f"a source called {entry} is a flag")
    include = resources.files("assay") / "include"
    with (
        tempfile.TemporaryDirectory(prefix="assay-build-") as name,
        resources.as_file(include) as headers,
    ):
        folder = Path(name).resolve()
        for path, content in sources.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        command = toolchain.command(tool, flags, (headers, folder), entry, LIBRARY)
        readable = (str(headers), *toolkit_of(tool))
        ended = run_confined(command, folder, toolchain.seconds, readable=readable, without=without)
        _check(ended, toolchain.seconds)
        return Compiled((folder / LIBRARY).read_bytes(), ended.errors, ended.held)


def _check(ended: Ended, seconds: int) -> None:
    if ended.status == OUT_OF_TIME:
        raise ProcessFailure(Status.BUILD_ERROR, f"compiling took over {seconds} s")
    if ended.status == SIGNALLED + signal.SIGSYS:
        told = "its build made a system call that the sandbox forbids"
        raise violation(ViolationKind.SANDBOX, told)
    if ended.status:
        raise ProcessFailure(Status.BUILD_ERROR, _first_error(ended.errors))


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    first = lines[0] if lines else "no message"
    told = next((line for line in lines if _ERROR.search(line)), first)
    return " ".join(told.split())[:300]
