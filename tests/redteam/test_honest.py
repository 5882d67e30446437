"""Honest twins: they look suspicious, and not one of them is refused or labelled."""

from __future__ import annotations

import pytest

from assay.redteam.attack import Twin
from assay.redteam.find import shipped_twins
from assay.redteam.trial import twin_trial

QUICK = "scratch_by_pointer"
TWINS = shipped_twins()


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
    trial = twin_trial(twin)
    assert trial.accepted, f"{trial.word}: {trial.end.reason}"
    assert trial.end.violation is None
