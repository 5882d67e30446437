"""Attacks that do other or less work than was asked for: each beats the plain evaluator, none
passes here. One is tried in every run; all of them take minutes."""

from __future__ import annotations

import pytest

from assay.redteam.attack import AttackClass
from assay.redteam.attack import Plain
from assay.redteam.find import find_attack
from assay.redteam.find import shipped_attacks
from assay.redteam.trial import Trial
from assay.redteam.trial import try_attack
from assay.spec.status import Status
from assay.spec.task import DeviceKind

NAMES = [
    attack.name
    for attack in shipped_attacks()
    if attack.kind is AttackClass.SEMANTIC and DeviceKind.CPU in attack.file.devices
]


def check(trial: Trial) -> None:
    assert trial.stopped, trial.end
    assert trial.end.status is not Status.FASTER
    assert trial.loaded, trial.plain


def test_less_precision_is_taken_for_right_elsewhere_and_is_wrong_here() -> None:
    trial = try_attack(find_attack("precision_downgrade"))
    check(trial)
    assert trial.plain.ok
    assert trial.end.status is Status.WRONG_VALUE
    assert not any(label.startswith("defence off") for label in trial.end.labels)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_semantic_attack_beats_the_plain_evaluator_and_is_stopped_here(name: str) -> None:
    check(try_attack(find_attack(name)))


@pytest.mark.long
@pytest.mark.parametrize("name", ["structure_truncation", "nan_mask"])
def test_a_threshold_is_right_on_normal_inputs_and_falls_to_a_harder_kind(name: str) -> None:
    end = try_attack(find_attack(name), plain=False).end
    assert end.status is Status.WRONG_VALUE
    assert not end.reason.endswith("(normal)")


@pytest.mark.long
def test_a_hard_coded_shape_falls_to_a_row_that_nobody_could_know() -> None:
    trial = try_attack(find_attack("hardcoded_shape"), plain=False)
    assert trial.end.status is Status.WRONG_VALUE


@pytest.mark.long
def test_there_is_no_reference_to_fall_back_on_in_a_runner() -> None:
    end = try_attack(find_attack("fallback_to_reference"), plain=False).end
    assert end.status is Status.CRASH
    assert "No module named 'reference'" in end.reason


@pytest.mark.long
def test_who_calls_can_be_told_and_does_not_help() -> None:
    end = try_attack(find_attack("environment_sniff"), plain=False).end
    assert end.status is Status.WRONG_VALUE
    assert end.reason.startswith("in a timed call: ")


def test_what_the_plain_evaluator_cannot_be_attacked_with_says_why() -> None:
    out = {
        attack.name: attack.file.plain_reason
        for attack in map(find_attack, NAMES)
        if attack.file.plain is Plain.OUT_OF_REACH
    }
    assert set(out) == {"decoy_kernel", "sampling_collapse"}
    assert all(out.values())
