"""Honest twins: they look suspicious, and not one of them is refused or labelled."""

from __future__ import annotations

import pytest

from assay.redteam.attack import Twin
from assay.redteam.find import shipped_twins
from assay.redteam.trial import try_twin

QUICK = "scratch_by_pointer"
TWINS = shipped_twins()
USUAL = ("task not admitted", "one thread a side", "weaker isolation", "isolation", "sandbox")
"""Labels of the task, the device and the host; none of them is the solution's."""
DECLARED = ("candidate: returns", "prepare step timed apart")
"""Labels of what a solution says of itself in its solution.toml."""


def test_there_are_enough_of_them() -> None:
    assert sum("cpu" in twin.file.devices for twin in TWINS) >= 25


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(t, id=t.name, marks=() if t.name == QUICK else pytest.mark.long)
        for t in TWINS
        if "cpu" in t.file.devices
    ],
)
def test_a_twin_is_judged_by_its_speed_alone(twin: Twin) -> None:
    end = try_twin(twin)
    assert end.status in twin.file.ends, f"{end.word}: {end.reason}"
    assert end.violation is None
    assert [label for label in end.labels if not label.startswith((*USUAL, *DECLARED))] == []
