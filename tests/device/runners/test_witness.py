"""What a runner may not do around a batch, done to the memory itself."""

from __future__ import annotations

import random

import pytest

from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import RowLayout
from assay.device.runners.layout import lay_out
from assay.device.runners.turn import Turn
from assay.device.runners.turn import deal
from assay.device.runners.turn import slots_wanted
from assay.device.runners.views import Poison
from assay.device.runners.views import Views
from assay.device.runners.witness import Witness
from tests.device.runners.test_layout import FUNCTION
from tests.device.runners.test_layout import row

CALLS, WARM = 20, 3
POISON = Poison(77)


class Scene:
    """A window that has just been filled, and the witness of a batch over it."""

    def __init__(self, slots: int = slots_wanted(CALLS, WARM), seed: int = 5) -> None:
        self.layout: RowLayout = lay_out(FUNCTION, row(64), slots=slots)
        memory = HostMemory(self.layout.bytes, "test")
        self.views = Views(memory, self.layout)
        self.views.poison(POISON, slice(0, slots))
        lot = random.Random(seed)
        self.turn: Turn = deal(slice(0, slots), CALLS, WARM, lot)
        self.witness = Witness(memory, self.layout, self.turn, lot)

    def call(self, *slots: int, value: float = 1.5) -> None:
        for slot in slots:
            self.views.tensor(self.layout.places["y"], slot).fill_(value)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_honest_batch_shows_nothing(scene: Scene) -> None:
    scene.call(*scene.turn.warm)
    assert not scene.witness.wrote_ahead()
    scene.call(*scene.turn.timed)
    scene.witness.ring()
    assert scene.witness.problem() is None


@pytest.mark.parametrize("which", [0, 7, CALLS - 1])
def test_a_slot_written_before_its_call_is_seen(scene: Scene, which: int) -> None:
    scene.call(*scene.turn.warm, scene.turn.timed[which])
    assert scene.witness.wrote_ahead()


def test_so_is_one_that_nobody_is_given(scene: Scene) -> None:
    scene.call(scene.turn.uncalled[0])
    assert scene.witness.wrote_ahead()


@pytest.mark.parametrize("which", [0, 7, CALLS - 1])
def test_a_call_made_after_the_ring_is_seen(scene: Scene, which: int) -> None:
    late = scene.turn.timed[which]
    scene.call(*(slot for slot in scene.turn.timed if slot != late))
    scene.witness.ring()
    scene.call(late)
    assert scene.witness.problem() == "outputs changed after it had rung"


def test_a_call_never_made_is_seen(scene: Scene) -> None:
    scene.call(*scene.turn.timed[1:])
    scene.witness.ring()
    assert scene.witness.problem() == "a call left its outputs unwritten"


def test_of_a_few_elements_written_some_column_falls_beside_them(scene: Scene) -> None:
    found = 0
    for seed in range(40):
        scene = Scene(seed=seed)
        scene.call(*scene.turn.timed[1:])
        scene.views.tensor(scene.layout.places["y"], scene.turn.timed[0])[:8] = 1.5
        scene.witness.ring()
        found += scene.witness.problem() is not None
    assert found > 30


def test_of_many_slots_only_some_are_looked_at() -> None:
    scene = Scene(slots=1000)
    assert len(scene.witness._slots) == 250
    assert not scene.witness.wrote_ahead()
    scene.call(*scene.turn.timed)
    scene.witness.ring()
    assert scene.witness.problem() is None
