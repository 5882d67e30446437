"""Builds solutions for the cpu device: C++ by the host's compiler, both sides alike."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from assay.device.cpu import CpuProgram
from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.judge.case import Contender
from assay.spec.errors import UnavailableError
from assay.spec.solution import Language
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.task import Task

BASE_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fPIC", "-shared")
_BUILD_SECONDS = 120
_COMPILERS = ("g++", "c++", "clang++")

_ALLOWED_FLAG = re.compile(
    r"-(O[0-3s]|Ofast|f[a-z0-9-]+(=[\w.-]+)?|m[\w.=+-]+|D\w+(=[\w.+-]*)?|W[\w-]+)"
)
# What lets a compiler change the answer; -Ofast is -O3 with all of it.
_FAST_MATH = frozenset(
    {
        "-Ofast",
        "-ffast-math",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
        "-ffinite-math-only",
        "-fno-signed-zeros",
        "-fcx-limited-range",
    }
)
_FAST_MATH_IN_SOURCE = re.compile(
    rb"(optimize\s*\(?[^)\n]*(fast-math|Ofast|unsafe-math|associative-math|finite-math)"
    rb"|fp\s+(reassociate|contract)\s*\(\s*(on|fast)|float_control)"
)


@dataclass(frozen=True)
class Build:
    """A program, and how it was made; the flags stand in the evidence."""

    program: CpuProgram
    compiler: str
    flags: tuple[str, ...]


def compiler() -> str | None:
    """The C++ compiler of this host, if it has one."""
    named = os.environ.get("CXX")
    names = (named, *_COMPILERS) if named else _COMPILERS
    return next((found for found in map(shutil.which, names) if found), None)


def flags_for(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """All flags that any contender asks for: each side is built with the same."""
    wanted = dict.fromkeys(
        flag
        for contender in contenders
        if contender.solution.language is Language.CPP
        for flag in contender.solution.flags
    )
    return (*BASE_FLAGS, *wanted)


def check_flags(candidate: Contender, baseline: Contender) -> None:
    """Refuse flags that change answers unless the baseline has them, and flags that are none."""
    for flag in candidate.solution.flags:
        if not _ALLOWED_FLAG.fullmatch(flag):
            raise violation(ViolationKind.BUILD_FLAGS, f"flag {flag} is not allowed")
        if flag in _FAST_MATH and flag not in baseline.solution.flags:
            raise violation(
                ViolationKind.BUILD_FLAGS, f"{flag}, which the baseline is built without"
            )
    for path, source in candidate.sources.items():
        if _FAST_MATH_IN_SOURCE.search(source) and not any(
            _FAST_MATH_IN_SOURCE.search(other) for other in baseline.sources.values()
        ):
            raise violation(ViolationKind.BUILD_FLAGS, f"{path} switches fast-math on")


def build(task: Task, contender: Contender, flags: tuple[str, ...]) -> Build:
    """The contender as a program; raises ProcessFailure if it does not compile."""
    solution = contender.solution
    if solution.language is not Language.CPP:
        program = CpuProgram(task, solution, contender.sources, solution.entry)
        return Build(program, "", ())
    definitions = tuple(f"-D{name}={_literal(value)}" for name, value in solution.config.items())
    library = compile_library(contender.sources, solution.entry, (*flags, *definitions))
    program = CpuProgram(task, solution, {"library.so": library}, "library.so")
    return Build(program, _required_compiler(), (*flags, *definitions))


def _literal(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _required_compiler() -> str:
    found = compiler()
    if found is None:
        raise UnavailableError(
            "no C++ compiler is installed",
            next_step="install one, for example: apt-get install g++",
        )
    return found


def compile_library(sources: Mapping[str, bytes], entry: str, flags: tuple[str, ...]) -> bytes:
    """The bytes of a shared library, built in a folder of its own that is removed again."""
    tool = _required_compiler()
    include = resources.files("assay") / "include"
    with (
        tempfile.TemporaryDirectory(prefix="assay-build-") as name,
        resources.as_file(include) as h,
    ):
        folder = Path(name)
        for path, content in sources.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        command = [tool, *flags, f"-I{h}", f"-I{folder}", entry, "-o", "library.so"]
        _run(command, folder)
        return (folder / "library.so").read_bytes()


def _run(command: list[str], folder: Path) -> None:
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TMPDIR": str(folder)},
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=_BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise ProcessFailure(
            Status.BUILD_ERROR, f"compiling took over {_BUILD_SECONDS} s"
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        raise ProcessFailure(Status.BUILD_ERROR, _first_error(errors.decode(errors="replace")))


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    told = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    return " ".join(told.split())[:300]
