"""Attacks that hide from a filter of text: here nothing is decided by text."""

from __future__ import annotations

import pytest

from assay.redteam.attack import AttackClass
from assay.redteam.find import find_attack
from assay.redteam.find import shipped_attacks
from assay.redteam.trial import try_attack
from assay.spec.status import Status
from assay.spec.task import DeviceKind

NAMES = [
    attack.name
    for attack in shipped_attacks()
    if attack.kind is AttackClass.FILTER and DeviceKind.CPU in attack.file.devices
]


def test_names_in_other_letters_do_not_help_a_call_that_is_left_out() -> None:
    trial = try_attack(find_attack("getattr_evasion"))
    assert trial.plain.beaten, trial.plain
    assert trial.stopped, trial.end


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_what_hides_from_a_filter_beats_the_plain_evaluator_and_is_stopped_here(name: str) -> None:
    trial = try_attack(find_attack(name))
    assert trial.stopped, trial.end
    assert trial.end.status is not Status.FASTER
    assert trial.loaded, trial.plain
