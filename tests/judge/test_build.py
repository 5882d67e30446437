from __future__ import annotations

import pytest

from assay.device.failure import ProcessFailure
from assay.judge.build import BASE_FLAGS
from assay.judge.build import build
from assay.judge.build import check_flags
from assay.judge.build import flags_for
from assay.spec.errors import UnavailableError
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import contender
from tests.device.cpu.making import task

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


def test_a_library_is_built_and_nothing_else_is_shipped() -> None:
    made = build(task(), contender(CPP, language="cpp"), BASE_FLAGS)
    assert list(made.program.files) == ["library.so"]
    assert made.program.files["library.so"][:4] == b"\x7fELF"
    assert made.flags == BASE_FLAGS


def test_a_config_becomes_definitions() -> None:
    tuned = contender(CPP, language="cpp", search={"FACTOR": [2, 3]}, config={"FACTOR": 3})
    assert build(task(), tuned, BASE_FLAGS).flags[-1] == "-DFACTOR=3"


def test_what_does_not_compile_says_its_first_error() -> None:
    with pytest.raises(ProcessFailure) as caught:
        build(task(), contender("int f( {", language="cpp"), BASE_FLAGS)
    assert caught.value.status is Status.BUILD_ERROR
    assert str(caught.value).startswith("kernel.cpp:1:")
    assert "\n" not in str(caught.value)


def test_both_sides_are_given_the_flags_of_either() -> None:
    plain = contender(CPP, language="cpp")
    unrolled = contender(CPP, language="cpp", flags=["-funroll-loops"])
    assert flags_for((plain, unrolled)) == (*BASE_FLAGS, "-funroll-loops")
    assert flags_for((contender(PLAIN), plain)) == BASE_FLAGS


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-fassociative-math"])
def test_fast_math_is_refused_unless_the_baseline_has_it(flag: str) -> None:
    fast, plain = contender(CPP, language="cpp", flags=[flag]), contender(CPP, language="cpp")
    with pytest.raises(ProcessFailure) as caught:
        check_flags(fast, plain)
    assert caught.value.violation is ViolationKind.BUILD_FLAGS
    assert str(caught.value) == f"{flag}, which the baseline is built without"
    check_flags(fast, fast)


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


@pytest.mark.parametrize(
    "flag", ["-I/etc", "-include", "@file", "-Wl,-rpath,/tmp", "-o", "-fplugin=/tmp/x.so", "x.cpp"]
)
def test_flags_that_reach_beyond_the_code_are_refused(flag: str) -> None:
    with pytest.raises(ProcessFailure, match="is not allowed"):
        check_flags(contender(CPP, language="cpp", flags=[flag]), contender(CPP, language="cpp"))


def test_without_a_compiler_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.judge.build.compiler", lambda: None)
    with pytest.raises(UnavailableError, match=r"no C\+\+ compiler is installed \(install one"):
        build(task(), contender(CPP, language="cpp"), BASE_FLAGS)
