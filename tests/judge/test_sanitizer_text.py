"""The tool's text, in the forms that its releases print, and what is made of it."""

from __future__ import annotations

import pytest

from assay.judge.sanitizer_text import Finding
from assay.judge.sanitizer_text import bare_name
from assay.judge.sanitizer_text import read_output

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"

WRITES = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at planted::store(float *, int)+0x90 in kernel.cu:12
=========     by thread (31,0,0) in block (0,0,0)
=========     Access at 0x7f32a2a00200 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f32a2a00000 of size 512 bytes
=========         Device Frame: void planted::scale<(int)4>(float *, int)+0x80 in kernel.cu:30
=========
========= Invalid __global__ write of size 4 bytes
=========     at planted::store(float *, int)+0x90 in kernel.cu:12
=========     by thread (30,0,0) in block (0,0,0)
=========     Access at 0x7f32a2a001fc is out of bounds
=========         Device Frame: void planted::scale<(int)4>(float *, int)+0x80 in kernel.cu:30
=========
========= ERROR SUMMARY: 2 errors
"""

RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at turn(float *)+0xf0 in kernel.cu:7
=========     and Read access at turn(float *)+0x160 in kernel.cu:8 [3,968 hazards]
=========     and Write access at turn(float *)+0x170 in kernel.cu:9 [12 hazards]
=========
========= Warning: Race reported between Read access at turn(float *)+0x160
=========     and Write access at turn(float *)+0xf0 [4 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""

READ = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 2 bytes
=========     at void at::native::copy<c10::Half, (anonymous namespace)::Take>(int)+0x1b0
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x7f7c26a00000
========= Host API memory access error at host access to 0x7f7c26a00200 of size 1,024 bytes
=========     Uninitialized access at 0x7f7c26a00200 on access by cudaMemcpy source
========= ERROR SUMMARY: 2 errors
"""

BARRIER = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp.
=========     at 0x2c8 in /tmp/build/kernel.cu:41:wait(float *)
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
"""


def test_a_clean_run_has_a_summary_and_nothing_else() -> None:
    assert read_output(CLEAN) == read_output(
        CLEAN.replace("COMPUTE-SANITIZER\n", "COMPUTE-SANITIZER\r\n")
    )
    assert (read_output(CLEAN).findings, read_output(CLEAN).errors) == ((), 0)


def test_equal_reports_of_many_threads_are_one_finding_of_the_outermost_frame() -> None:
    printed = read_output(WRITES)
    assert printed.errors == 2
    assert printed.findings == (
        Finding(
            "Invalid __global__ write of size 4 bytes",
            "void planted::scale<(int)4>(float *, int)",
            "kernel.cu:12",
            count=2,
        ),
    )


def test_errors_and_warnings_of_races_both_count() -> None:
    printed = read_output(RACE)
    assert printed.errors == 2
    assert printed.findings == (
        Finding(
            "Race reported between Write access and Read access", "turn(float *)", "kernel.cu:7"
        ),
        Finding(
            "Warning: Race reported between Read access and Write access", "turn(float *)", None
        ),
    )


def test_an_address_is_no_part_of_what_was_found() -> None:
    printed = read_output(READ)
    assert [finding.kind for finding in printed.findings] == [
        "Uninitialized __global__ memory read of size 2 bytes",
        "Host API memory access error at host access to … of size 1,024 bytes",
    ]
    assert printed.findings[0].kernel is not None
    assert bare_name(printed.findings[0].kernel) == "copy"
    # Nothing says which kernel, so none is named.
    assert printed.findings[1].kernel is None


def test_the_place_is_read_as_older_releases_write_it() -> None:
    assert read_output(BARRIER).findings == (
        Finding(
            "Barrier error detected. Divergent thread(s) in warp.",
            "wait(float *)",
            "/tmp/build/kernel.cu:41",
        ),
    )


def test_that_the_solution_ended_badly_is_no_finding_of_its_own() -> None:
    text = WRITES
    for words in (
        "Error: process didn't terminate successfully",
        "Target application returned an error",
    ):
        text = text.replace("========= ERROR", f"========= {words}\n========= ERROR")
    assert read_output(text) == read_output(WRITES)


def test_reports_that_were_counted_but_not_printed_are_counted() -> None:
    more = "========= ERROR SUMMARY: 998 errors were not printed. Use --print-limit to see them\n"
    assert read_output(WRITES + more).errors == 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "========= COMPUTE-SANITIZER\n",
        "ERROR SUMMARY: 0 errors\n",
        "========= ERROR SUMMARY: no errors\n",
        "noise ========= ERROR SUMMARY: 0 errors\n",
        "=========     ERROR SUMMARY: 0 errors\n",
        "\x00\x1b[31m=========\n",
    ],
)
def test_without_a_summary_there_is_no_count(text: str) -> None:
    assert read_output(text).errors is None


def test_what_it_does_not_know_is_a_finding_too() -> None:
    text = CLEAN.replace("========= E", "========= Tensor core trouble at 0x12\n========= E")
    printed = read_output(text)
    assert [finding.kind for finding in printed.findings] == ["Tensor core trouble at …"]
    # A summary that knows of fewer errors than were printed does not talk them away.
    assert printed.errors == 1


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("scale(float *, int)", "scale"),
        ("scale", "scale"),
        ("void ns::scale<float, (int)4>(T1 *, std::array<char *, (unsigned long)2>)", "scale"),
        ("(anonymous namespace)::scale(int)", "scale"),
        ("void at::native::vectorized<4, at::native::Functor<flo", "vectorized"),
        ("_scale_kernel", "_scale_kernel"),
    ],
)
def test_the_bare_name_of_a_kernel(kernel: str, name: str) -> None:
    assert bare_name(kernel) == name
