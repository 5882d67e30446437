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

_RING = "all called slots must be read when the clock stops, and again after the answer"
OPEN = {
    "defer_past_ring": _RING,
    "last_calls_first": _RING,
    "fill_before_ready": "all called slots must still hold poison when the runner is ready",
    "precompute_before_ready": "the work of a runner before it is ready must be bounded",
    "zero_the_constant": "constants must be compared after timed batches too",
    "skip_a_share": "a sample of every timed call must be compared, not one call of a batch",
    "timer_storm": "a runner must not make timers; interrupts on its core must be counted",
}
"""Attacks that get through, with what would stop them."""


def _marks(attack: Attack) -> list[pytest.MarkDecorator]:
    marks = [] if attack.name == QUICK else [pytest.mark.long]
    if attack.name in OPEN:
        marks.append(pytest.mark.xfail(reason=OPEN[attack.name], strict=False))
    return marks


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
        ("write_other_slots", Defences(uncalled_slots=False)),
        ("replay_when_timed", Defences(content=False)),
        ("wrong_when_timed", Defences(kept_calls=False)),
    ],
)
def test_without_its_defence_it_gets_through(name: str, off: Defences) -> None:
    end = try_attack(find_attack(name), defences=off, plain=False).end
    assert end.status is not None
    assert end.status.is_timed, f"{end.word}: {end.reason}"
