from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assay.device.runners import Target
from assay.judge.toolchain import HOST
from assay.judge.toolchain import NVCC
from assay.judge.toolchain import Resources
from assay.judge.toolchain import Toolchain
from assay.judge.toolchain import demangled
from assay.judge.toolchain import read_resources
from assay.judge.toolchain import toolchain_for
from assay.judge.toolchain import toolchain_of
from assay.spec.solution import Language


def test_each_language_has_its_toolchain_and_each_device() -> None:
    assert [toolchain_of(language) for language in Language] == [None, None, HOST, NVCC]
    kinds = ("cpu", "cuda", "rocm")
    assert [toolchain_for(Target(kind)) for kind in kinds] == [HOST, NVCC, None]


def test_the_flags_of_every_build() -> None:
    assert HOST.base_flags(Target("cpu")) == (
        *("-O3", "-march=native", "-std=c++17", "-fPIC", "-shared"),
    )
    assert NVCC.base_flags(Target("cuda", "90a")) == (
        *("-x", "cu", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v"),
        "-gencode=arch=compute_90a,code=sm_90a",
    )


def test_a_command_line() -> None:
    command = NVCC.command("/bin/nvcc", ("-O3",), ("/inc", Path("/src")), "k.cu", "library.so")
    assert command == ["/bin/nvcc", "-O3", "-I/inc", "-I/src", "k.cu", "-o", "library.so"]


# -- where a compiler is found


def tool(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_nvcc_is_sought_by_name_then_path_then_cuda_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("NVCC", "CUDA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    home = tool(tmp_path / "home/bin/nvcc")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert NVCC.find() == home
    on_path = tool(tmp_path / "path/nvcc")
    assert NVCC.find() == on_path
    named = tool(tmp_path / "mine/nvcc-13")
    monkeypatch.setenv("NVCC", named)
    assert NVCC.find() == named
    monkeypatch.setenv("NVCC", str(tmp_path / "gone"))
    assert NVCC.find() == on_path


def test_a_host_compiler_is_sought_by_name_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    clang = tool(tmp_path / "clang++")
    monkeypatch.setenv("CXX", "")
    assert HOST.find() == clang
    monkeypatch.setenv("CXX", "my-g++")
    assert HOST.find() == clang
    assert (tool(tmp_path / "my-g++"), HOST.find()) == (str(tmp_path / "my-g++"),) * 2


def test_no_tool_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert (HOST.find(), NVCC.find()) == (None, None)


# -- flags


@pytest.mark.parametrize(
    "flag",
    [
        *("-DTILE=128", "-DNDEBUG", "-O2", "-std=c++17", "-std=c++20", "-lineinfo", "--restrict"),
        "--expt-relaxed-constexpr",
        *("--extended-lambda", "--expt-extended-lambda", "--extra-device-vectorization"),
        *("-Xptxas=-dlcm=ca", "-Xptxas=-dlcm=cg", "-Xptxas=-dscm=wb"),
    ],
)
def test_what_a_cuda_solution_may_ask_for(flag: str) -> None:
    assert NVCC.allows(flag)
    assert not NVCC.fast_math_of([flag])


@pytest.mark.parametrize(
    "flag",
    [
        *("-I/etc", "-I", "-L/tmp", "-lcublas", "-l", "-ccbin", "-ccbin=/tmp/cc"),
        *("-Xcompiler", "-Xcompiler=-fplugin=x", "-Xlinker", "-Xlinker=-rpath", "-Xptxas"),
        *("-Xptxas=-v,-o", "-Xptxas=-O0", "-Xptxas=-dlcm=cv", "-Xptxas=-dlcm=ca,-O0", "-Xnvlink"),
        *("--options-file", "--options-file=x", "-optf", "@file", "-o", "-o=x", "-include"),
        *("-include=x.h", "--pre-include=x", "-keep", "--dryrun", "-run", "-G", "-g", "-Ofc"),
        *("-x", "-arch=sm_80", "-gencode=arch=compute_80,code=sm_80", "--fmad=false", "-std=c++03"),
        *("x.cu", "", "-D", "-DX=$(touch x)", "-DX=`x`", "-DX=a b", "-DX=1;x", "-O2 -G", "-O2\n"),
        *("-DX='a'", '-DX="a"', "-DX=a|b", "-DX=ü", "--maxrregcount=64"),
    ],
)
def test_what_a_cuda_solution_may_not_ask_for(flag: str) -> None:
    assert not NVCC.allows(flag)


@pytest.mark.parametrize(
    ("toolchain", "flag", "plain"),
    [
        (NVCC, "--use_fast_math", "-use_fast_math"),
        (NVCC, "-use_fast_math", "-use_fast_math"),
        (NVCC, "--ftz=true", "-ftz=true"),
        (NVCC, "--prec-div=false", "-prec-div=false"),
        (NVCC, "-prec-sqrt=false", "-prec-sqrt=false"),
        (HOST, "-Ofast", "-Ofast"),
        (HOST, "-ffast-math", "-ffast-math"),
    ],
)
def test_fast_math_by_any_spelling(toolchain: Toolchain, flag: str, plain: str) -> None:
    assert toolchain.allows(flag)
    assert toolchain.fast_math_of(["-O2", flag]) == {plain: flag}


# -- what ptxas says

LOG = """\
nvcc warning : incompatible redefinition for option 'optimize', the last value was used
ptxas info    : 8 bytes gmem, 64 bytes cmem[3]
ptxas info    : Compiling entry function '_Z5plainPf' for 'sm_90a'
ptxas info    : Function properties for _Z5plainPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 6.367 ms
ptxas info    : Function properties for _Z6helperf
    512 bytes stack frame, 9 bytes spill stores, 9 bytes spill loads
ptxas info    : Compiling entry function '_Z5tiledILi4EEvPf' for 'sm_90a'
ptxas info    : Function properties for _Z5tiledILi4EEvPf
    256 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 22.576 ms
"""


def test_kernels_and_what_they_take() -> None:
    assert read_resources(LOG) == {
        "_Z5plainPf": Resources(registers=8),
        "_Z5tiledILi4EEvPf": Resources(
            registers=255,
            shared_bytes=4096,
            stack_bytes=256,
            spill_store_bytes=24,
            spill_load_bytes=40,
        ),
    }


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("Used 32 registers, used 1 barriers, 400 bytes cmem[0]", Resources(32, 0, 400)),
        ("Used 32 registers, 400 bytes cmem[0], 8 bytes cmem[2]", Resources(32, 0, 408)),
        ("Used 40 registers, 2048+16 bytes smem, 360 bytes cmem[0]", Resources(40, 2064, 360)),
        ("Used 6 registers, 96 bytes lmem, 12 bytes smem, 4 bytes cmem[14]", Resources(6, 12, 4)),
    ],
)
def test_spellings_of_other_releases(used: str, expected: Resources) -> None:
    # Older ones have no line of properties between the kernel and its stack frame.
    text = (
        "ptxas info    : Compiling entry function '_Z1kv' for 'sm_80'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : {used}\n"
    )
    assert read_resources(text) == {"_Z1kv": expected}


def test_a_compiler_that_says_nothing_of_kernels() -> None:
    assert read_resources("") == {}
    assert read_resources("k.cpp:1: warning: Used 3 registers\nptxas info : Used 3 registers") == {}


def test_names_are_those_of_the_source_where_a_tool_knows_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mangled = {"_Z1kv": Resources(8), "_Z1mv": Resources(9)}
    monkeypatch.setenv("PATH", "")
    assert demangled(mangled) == mangled
    filt = tool(tmp_path / "c++filt")
    monkeypatch.setenv("PATH", str(tmp_path))
    Path(filt).write_text("#!/bin/sh\necho 'k()'\necho 'm()'\n")
    assert demangled(mangled) == {"k()": Resources(8), "m()": Resources(9)}
    assert demangled({}) == {}
    for useless in ("exit 1", "echo one", "echo same; echo same"):
        Path(filt).write_text(f"#!/bin/sh\n{useless}\n")
        assert demangled(mangled) == mangled
