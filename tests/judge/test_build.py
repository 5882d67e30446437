from __future__ import annotations

import shutil
import textwrap
from typing import Any

import pytest

from assay.device.failure import ProcessFailure
from assay.device.runners import Target
from assay.judge.build import build
from assay.judge.build import check_flags
from assay.judge.build import compile_library
from assay.judge.build import compiler
from assay.judge.build import flags_for
from assay.judge.case import Contender
from assay.judge.toolchain import HOST
from assay.judge.toolchain import NVCC
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from assay.spec.solution import Language
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import contender
from tests.device.cpu.making import task
from tests.gpu import needs_nvcc

CPU = Target("cpu")
H200 = Target("cuda", "90a")
BASE_FLAGS = HOST.base_flags(CPU)

CPP = """
    #include "assay.h"
    #ifndef FACTOR
    #define FACTOR 2
    #endif
    extern "C" int twice(const assay_tensor* t, const double* options, void*) {
        const float* x = (const float*)t[0].data;
        float* y = (float*)t[1].data;
        for (int64_t i = 0; i < t[0].shape[0]; ++i)
            y[i * t[1].strides[0]] = FACTOR * x[i * t[0].strides[0]] + (float)options[0];
        return 0;
    }
"""

CUDA = """
    #include "assay_cuda.h"
    __global__ void scale(const float* x, float* y, int64_t n, float bias) {
        int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
        if (i < n) y[i] = 2 * x[i] + bias;
    }
    extern "C" int twice(const assay_tensor* t, const double* options, void*, cudaStream_t s) {
        int64_t n = assay_elements(t);
        scale<<<assay_ceil_div(n, 256), 256, 0, s>>>(
            (const float*)t[0].data, (float*)t[1].data, n, (float)options[0]);
        return assay_launch_status();
    }
"""


def cuda(source: str = CUDA, **more: Any) -> Contender:
    content, name = textwrap.dedent(source).encode(), "kernel.cu"
    solution = Solution(name="made", language=Language.CUDA, sources=(name,), entry=name, **more)
    file = SourceFile(path=name, sha256=sha256_hex(content), bytes=len(content))
    return Contender(SealedSolution(solution=solution, files=(file,)), {name: content})


def test_a_library_is_built_and_nothing_else_is_shipped() -> None:
    made = build(task(), contender(CPP, language="cpp"), BASE_FLAGS, CPU)
    assert list(made.program.files) == ["library.so"]
    assert made.program.files["library.so"][:4] == b"\x7fELF"
    assert (made.flags, made.resources) == (BASE_FLAGS, {})
    assert made.compiler == compiler(CPU)


def test_a_config_becomes_definitions() -> None:
    tuned = contender(CPP, language="cpp", search={"FACTOR": [2, 3]}, config={"FACTOR": 3})
    assert build(task(), tuned, BASE_FLAGS, CPU).flags[-1] == "-DFACTOR=3"


@pytest.mark.parametrize("value", ["$(touch x)", "`touch x`", "1; touch x", "a b", "'", '"'])
def test_a_config_is_nothing_that_a_shell_would_run(value: str) -> None:
    # nvcc 13.0 runs $(…) and `…` in a definition.
    sneaky = cuda(search={"TILE": (value,)}, config={"TILE": value})
    with pytest.raises(ProcessFailure, match=r"flag -DTILE=.* is not allowed") as caught:
        build(task(), sneaky, NVCC.base_flags(H200), H200)
    assert caught.value.violation is ViolationKind.BUILD_FLAGS


def test_what_does_not_compile_says_its_first_error() -> None:
    with pytest.raises(ProcessFailure) as caught:
        build(task(), contender("int f( {", language="cpp"), BASE_FLAGS, CPU)
    assert caught.value.status is Status.BUILD_ERROR
    assert str(caught.value).startswith("kernel.cpp:1:")
    assert "\n" not in str(caught.value)


def test_a_warning_about_an_error_is_not_the_first_error() -> None:
    source = "static int error;\n#warning error handling is missing\nint f( {"
    with pytest.raises(ProcessFailure, match=r"^kernel.cpp:3:\d+: error"):
        build(task(), contender(source, language="cpp"), (*BASE_FLAGS, "-Wall"), CPU)


def test_both_sides_are_given_the_flags_of_either() -> None:
    plain = contender(CPP, language="cpp")
    unrolled = contender(CPP, language="cpp", flags=["-funroll-loops"])
    assert flags_for((plain, unrolled), CPU) == (*BASE_FLAGS, "-funroll-loops")
    assert flags_for((contender(PLAIN), plain), CPU) == BASE_FLAGS
    lined = cuda(flags=("-lineinfo",))
    assert flags_for((lined, unrolled), H200) == (*NVCC.base_flags(H200), "-lineinfo")
    assert flags_for((lined, unrolled), Target("rocm")) == ()


def test_no_side_is_built_with_a_flag_that_is_none() -> None:
    odd = contender(CPP, language="cpp", flags=["-I/etc"])
    with pytest.raises(UsageError, match="flag -I/etc of made is not allowed"):
        flags_for((odd,), CPU)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-fassociative-math"])
def test_fast_math_is_refused_unless_the_baseline_has_it(flag: str) -> None:
    fast, plain = contender(CPP, language="cpp", flags=[flag]), contender(CPP, language="cpp")
    with pytest.raises(ProcessFailure) as caught:
        check_flags(fast, plain)
    assert caught.value.violation is ViolationKind.BUILD_FLAGS
    assert str(caught.value) == f"{flag}, which the baseline is built without"
    check_flags(fast, fast)


def test_fast_math_on_cuda_is_refused_unless_the_baseline_has_it_in_any_spelling() -> None:
    fast = cuda(flags=("-use_fast_math",))
    with pytest.raises(ProcessFailure, match=r"^-use_fast_math, which the baseline is built with"):
        check_flags(fast, cuda(flags=("--ftz=true",)))
    check_flags(fast, cuda(flags=("--use_fast_math",)))
    check_flags(cuda(CUDA.replace("2 *", "__expf(0) * 2 *")), cuda())


@pytest.mark.parametrize(
    "line",
    [
        '#pragma GCC optimize("fast-math")',
        '__attribute__((optimize("Ofast")))',
        '__attribute__((optimize("-ffinite-math-only", "O3")))'.replace("finite", "associative"),
        "#pragma clang fp reassociate(on)",
    ],
)
def test_fast_math_in_the_source_is_refused(line: str) -> None:
    sneaky = contender(f"{line}\n{CPP}", language="cpp")
    with pytest.raises(ProcessFailure, match="switches fast-math on"):
        check_flags(sneaky, contender(CPP, language="cpp"))
    check_flags(sneaky, sneaky)


@pytest.mark.parametrize(
    "flag",
    [
        *("-I/etc", "-include", "@file", "-Wl,-rpath,/tmp", "-o", "-fplugin=/tmp/x.so", "x.cpp"),
        *("-fplugin=x.so", "-fpass-plugin=x.so"),
    ],
)
def test_flags_that_reach_beyond_the_code_are_refused(flag: str) -> None:
    with pytest.raises(ProcessFailure, match="is not allowed"):
        check_flags(contender(CPP, language="cpp", flags=[flag]), contender(CPP, language="cpp"))


def test_a_source_cannot_be_a_flag() -> None:
    with pytest.raises(ProcessFailure, match="a source called -lm is a flag"):
        compile_library({"-lm": b""}, "-lm", BASE_FLAGS, HOST)


def test_a_language_needs_its_kind_of_device() -> None:
    with pytest.raises(UsageError, match=r"^solution made is CUDA, which needs a cuda device$"):
        build(task(), cuda(), BASE_FLAGS, CPU)
    with pytest.raises(UsageError, match=r"^solution made is C\+\+, which needs a cpu device$"):
        build(task(), contender(CPP, language="cpp"), (), H200)


@pytest.mark.parametrize("target", [CPU, H200, Target("rocm")])
@pytest.mark.parametrize("language", ["torch", "triton"])
def test_torch_and_triton_need_no_build_anywhere(target: Target, language: str) -> None:
    made = build(task(), contender(PLAIN, language=language), ("-O3",), target)
    assert list(made.program.files) == ["kernel.py"]
    assert (made.compiler, made.flags, made.resources) == ("", (), {})


def test_without_a_compiler_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert [compiler(target) for target in (CPU, H200, Target("rocm"))] == [None, None, None]
    with pytest.raises(UnavailableError, match=r"no C\+\+ compiler is installed \(install one"):
        build(task(), contender(CPP, language="cpp"), BASE_FLAGS, CPU)
    with pytest.raises(UnavailableError, match=r"no CUDA compiler \(nvcc\) is installed \(install"):
        build(task(), cuda(), (), H200)


@needs_nvcc
def test_a_cuda_library_and_what_its_kernels_take() -> None:
    made = build(task(), cuda(flags=("-lineinfo",)), NVCC.base_flags(H200), H200)
    assert made.program.files["library.so"][:4] == b"\x7fELF"
    ((name, taken),) = made.resources.items()
    assert "scale" in name
    assert 4 <= taken.registers <= 64
    assert (taken.shared_bytes, taken.spill_store_bytes) == (0, 0)


@needs_nvcc
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int f() { return x; }", r"^kernel.cu\(1\): error: identifier"),
        ('#include "nope.h"', r"^kernel.cu:1:\d+: fatal error: nope.h"),
        (
            "__global__ void errors(float* x) { __shared__ float s[100000]; "
            "s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[5]; }",
            r"^ptxas error : Entry function '_Z6errorsPf' uses too much shared data",
        ),
    ],
)
def test_what_nvcc_does_not_compile_says_its_first_error(source: str, message: str) -> None:
    with pytest.raises(ProcessFailure, match=message) as caught:
        build(task(), cuda(source), NVCC.base_flags(H200), H200)
    assert caught.value.status is Status.BUILD_ERROR
