from __future__ import annotations

import pytest

from assay.pack.target import Target
from assay.spec.errors import UsageError


def test_a_newer_glibc_takes_what_was_built_for_an_older_one() -> None:
    tags = Target.of("3.12", ["manylinux_2_18_x86_64"]).tags
    assert tags[:4] == (
        "manylinux_2_18_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
        "manylinux_2_16_x86_64",
    )
    assert tags[-2:] == ("manylinux_2_5_x86_64", "manylinux1_x86_64")
    assert len(tags) == 14 + 3


def test_an_old_name_means_its_glibc() -> None:
    tags = Target.of("3.12", ["manylinux2014_aarch64"]).tags
    assert tags == ("manylinux2014_aarch64", "manylinux_2_17_aarch64")


def test_another_libc_stands_for_itself() -> None:
    assert Target.of("3.13", ["musllinux_1_2_x86_64"]).tags == ("musllinux_1_2_x86_64",)


def test_markers_are_those_of_the_target() -> None:
    markers = Target.of("3.13", ["manylinux_2_28_aarch64"]).markers
    assert markers["python_version"] == "3.13"
    assert markers["platform_machine"] == "aarch64"
    assert markers["sys_platform"] == "linux"


@pytest.mark.parametrize(
    ("python", "platforms", "said"),
    [
        ("3.10", ["manylinux_2_28_x86_64"], "3.10 is no Python that Assay runs on"),
        ("3.12.1", ["manylinux_2_28_x86_64"], "3.12.1 is no Python that Assay runs on"),
        ("cp312", ["manylinux_2_28_x86_64"], "cp312 is no Python that Assay runs on"),
        ("3.12", ["win_amd64"], "win_amd64 is no platform that Assay runs on"),
        ("3.12", ["manylinux_2_28_x86_64", "manylinux_2_28_aarch64"], "one kind of processor"),
    ],
)
def test_what_is_no_target_is_refused(python: str, platforms: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Target.of(python, platforms)
