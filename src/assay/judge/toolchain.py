"""Toolchain: one compiler, what it builds and for which kind of device, and what it may be told.

Both sides of a judgement are built with the flags of either. So a flag is allowed only where the
list of a toolchain has it: nothing that reaches beyond the code, nothing that is fast-math unless
the baseline has it, nothing that a shell would read (nvcc hands its arguments to one).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from assay.device.runners.target import Target
from assay.spec.solution import Language

_DEMANGLE_SECONDS = 10


@dataclass(frozen=True)
class Toolchain:
    language: Language
    shown: str
    """The language as people write it."""
    kind: str
    """The kind of device that its code runs on."""
    tools: tuple[str, ...]
    """Names or paths, the first that is there is taken; a variable stands for its value."""
    what_is_missing: str
    how_to_get_it: str
    seconds: int
    """The longest that a build may take."""
    flags: tuple[str, ...]
    """What every build is given; {arch} stands for the target's."""
    allowed_flag: re.Pattern[str]
    fast_math: frozenset[str]
    """Flags that let the compiler change the answer, spelled with one dash."""
    fast_math_in_source: re.Pattern[bytes]

    def find(self) -> str | None:
        """The compiler of this host, if it has one."""
        named = map(os.path.expandvars, self.tools)
        return next((found for found in map(shutil.which, named) if found), None)

    def base_flags(self, target: Target) -> tuple[str, ...]:
        return tuple(flag.format(arch=target.arch) for flag in self.flags)

    def allows(self, flag: str) -> bool:
        return self.allowed_flag.fullmatch(flag) is not None

    def fast_math_of(self, flags: Iterable[str]) -> dict[str, str]:
        """The fast-math among some flags: each as it is spelled with one dash, and as given."""
        found = {f"-{flag.lstrip('-')}": flag for flag in flags}
        return {plain: flag for plain, flag in found.items() if plain in self.fast_math}

    def command(
        self, tool: str, flags: Sequence[str], folders: Sequence[object], entry: str, output: str
    ) -> list[str]:
        """The command line that makes a shared library of one source and what it includes."""
        return [tool, *flags, *(f"-I{folder}" for folder in folders), entry, "-o", output]


# What the host's compiler is told inside the source; nvcc passes the host's half on to it.
_FAST_MATH_PRAGMA = re.compile(
    rb"(optimize\s*\(?[^)\n]*(fast-math|Ofast|unsafe-math|associative-math|finite-math)"
    rb"|fp\s+(reassociate|contract)\s*\(\s*(on|fast)|float_control)"
)

HOST = Toolchain(
    language=Language.CPP,
    shown="C++",
    kind="cpu",
    tools=("$CXX", "g++", "c++", "clang++"),
    what_is_missing="no C++ compiler is installed",
    how_to_get_it="install one, for example: apt-get install g++",
    seconds=120,
    flags=("-O3", "-march=native", "-std=c++17", "-fPIC", "-shared"),
    allowed_flag=re.compile(
        r"-(O[0-3s]|Ofast|f(?!plugin|pass-plugin)[a-z0-9-]+(=[\w.-]+)?|m[\w.=+-]+"
        r"|D\w+(=[\w.+-]*)?|W[\w-]+)"
    ),
    # -Ofast is -O3 with all of it.
    fast_math=frozenset(
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
    ),
    fast_math_in_source=_FAST_MATH_PRAGMA,
)

NVCC = Toolchain(
    language=Language.CUDA,
    shown="CUDA",
    kind="cuda",
    tools=("$NVCC", "nvcc", "$CUDA_HOME/bin/nvcc", "/usr/local/cuda/bin/nvcc"),
    what_is_missing="no CUDA compiler (nvcc) is installed",
    how_to_get_it="install the CUDA toolkit, or set NVCC or CUDA_HOME to where it is",
    seconds=300,
    flags=(
        *("-x", "cu", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v"),
        "-gencode=arch=compute_{arch},code=sm_{arch}",
    ),
    # Not --fmad: true is the default, and false would only slow the other side. Of the cache
    # options those that cache, for the same reason.
    allowed_flag=re.compile(
        r"-(D\w+(=[\w.+-]*)?|O[0-3]|std=c\+\+(17|20)|Xptxas=-(dlcm=c[ag]|dscm=(wb|cg|cs)))"
        r"|--?(lineinfo|expt-relaxed-constexpr|(expt-)?extended-lambda"
        r"|extra-device-vectorization|restrict|use_fast_math|ftz=true|prec-(div|sqrt)=false)",
        re.ASCII,
    ),
    fast_math=frozenset({"-use_fast_math", "-ftz=true", "-prec-div=false", "-prec-sqrt=false"}),
    fast_math_in_source=_FAST_MATH_PRAGMA,
)

_TOOLCHAINS = (HOST, NVCC)


def toolchain_of(language: Language) -> Toolchain | None:
    """What compiles a language; Torch and Triton solutions need nothing."""
    return next((found for found in _TOOLCHAINS if found.language is language), None)


def toolchain_for(target: Target) -> Toolchain | None:
    """What compiles for a kind of device; there are kinds that only Torch and Triton reach."""
    return next((found for found in _TOOLCHAINS if found.kind == target.kind), None)


@dataclass(frozen=True)
class Resources:
    """What ptxas says that one kernel takes; it explains a time and never decides anything."""

    registers: int
    """For each thread."""
    shared_bytes: int = 0
    constant_bytes: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0


_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"ptxas info\s*: Function properties for (\S+)")
_STACK = re.compile(
    r"\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[")


def read_resources(log: str) -> dict[str, Resources]:
    """Kernels by their mangled names, from the output of `ptxas -v`.

    >>> read_resources(
    ...     "ptxas info    : Compiling entry function 'f' for 'sm_90a'\\n"
    ...     "ptxas info    : Used 8 registers, 16 bytes smem\\n"
    ... )["f"].shared_bytes
    16
    """
    found: dict[str, Resources] = {}
    kernel, subject, stack = "", "", (0, 0, 0)
    for line in log.splitlines():
        if entry := _ENTRY.match(line):
            kernel = subject = entry[1]
            stack = (0, 0, 0)
        elif properties := _PROPERTIES.match(line):
            # Device functions that were not inlined have properties too, and no kernel's line.
            subject = properties[1]
        elif (frame := _STACK.match(line)) and subject == kernel:
            stack = (int(frame[1]), int(frame[2]), int(frame[3]))
        elif (used := _USED.match(line)) and kernel:
            shared = sum(int(part) for pair in _SHARED.findall(line) for part in pair if part)
            constant = sum(map(int, _CONSTANT.findall(line)))
            found[kernel] = Resources(int(used[1]), shared, constant, *stack)
    return found


def demangled(resources: Mapping[str, Resources]) -> dict[str, Resources]:
    """The same by the names of the source, where the host has a tool that knows them."""
    names = demangled_names(list(resources))
    if len(set(names)) != len(resources):
        return dict(resources)
    return dict(zip(names, resources.values(), strict=True))


def demangled_names(raw: Sequence[str]) -> list[str]:
    """Names as the source has them, in order; as they are where no tool of the host knows them."""
    tool = shutil.which("cu++filt") or shutil.which("c++filt")
    if tool is None or not raw:
        return list(raw)
    try:
        answer = subprocess.run(
            [tool],
            input="\n".join(raw),
            capture_output=True,
            text=True,
            timeout=_DEMANGLE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return list(raw)
    names = answer.stdout.splitlines()
    return names if len(names) == len(raw) else list(raw)
