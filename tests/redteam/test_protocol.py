"""Attacks on the referee's own protocol, by somebody who has read its source."""

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

QUICK = "ring_early"
ATTACKS = [
    load_attack(folder, AttackClass.PROTOCOL)
    for folder in sorted((ROOT / "attacks" / "protocol").iterdir())
    if (folder / "solution.toml").is_file()
]


def _marks(attack: Attack) -> list[pytest.MarkDecorator]:
    return [] if attack.name == QUICK else [pytest.mark.long]


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 30


@pytest.mark.parametrize(
    "attack",
    [pytest.param(a, id=a.name, marks=_marks(a)) for a in ATTACKS if "cpu" in a.file.devices],
)
def test_it_is_stopped_here(attack: Attack) -> None:
    trial = try_attack(attack)
    assert trial.loaded, trial.plain.word
    assert trial.end.status is not Status.FASTER, f"{trial.end.ratio}"
    assert trial.stopped, f"{trial.end.word}: {trial.end.reason}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("guard_middle", Defences(guard_bands=False)),
        ("write_other_slots", Defences(uncalled_slots=False, content=False)),
        ("replay_when_timed", Defences(content=False)),
        ("wrong_when_timed", Defences(kept_calls=False)),
    ],
)
def test_without_its_defence_it_gets_through(name: str, off: Defences) -> None:
    end = try_attack(find_attack(name), defences=off, plain=False).end
    assert end.status is not None
    assert end.status.is_timed, f"{end.word}: {end.reason}"
