"""Answer theft and replay: each attack beats the plain evaluator, and none is faster here."""

from __future__ import annotations

import pytest

from assay.redteam.attack import Attack
from assay.redteam.attack import AttackClass
from assay.redteam.find import ROOT
from assay.redteam.find import find_attack
from assay.redteam.find import load_attack
from assay.redteam.trial import try_attack
from assay.spec.defences import Defences
from assay.spec.status import Status

QUICK = "cache_by_pointer"
ATTACKS = [
    load_attack(folder, AttackClass.REPLAY)
    for folder in sorted((ROOT / "attacks" / "replay").iterdir())
    if (folder / "solution.toml").is_file()
]


def test_every_exploit_of_this_part_of_the_list_is_tried() -> None:
    tried = {number for attack in ATTACKS for number in attack.file.exploits}
    assert set(range(43, 58)) <= tried


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(a, id=a.name, marks=() if a.name == QUICK else pytest.mark.long)
        for a in ATTACKS
        if "cpu" in a.file.devices
    ],
)
def test_it_beats_the_plain_evaluator_and_is_stopped_here(attack: Attack) -> None:
    trial = try_attack(attack)
    assert trial.plain.beaten, trial.plain.word
    assert trial.end.status is not Status.FASTER
    assert trial.stopped, trial.end.word


@pytest.mark.long
def test_without_the_check_of_inputs_an_input_may_be_zeroed() -> None:
    end = try_attack(find_attack("mutate_inputs"), defences=Defences(inputs=False), plain=False).end
    assert end.status is not None
    assert end.status.is_timed, end.word
