from __future__ import annotations

import random

import pytest
import torch

from assay.device.runners.content import Pools
from assay.device.runners.content import RowSource
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import RowLayout
from assay.device.runners.layout import lay_out
from assay.device.runners.touches import Touches
from assay.device.runners.turn import FEWEST_SLOTS
from assay.device.runners.turn import Turn
from assay.device.runners.turn import deal
from assay.device.runners.turn import slots_wanted
from assay.device.runners.views import Views
from assay.spec.dtype import DType
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

N = 100


def function(role: Role = Role.OUTPUT, dtype: DType = DType.FLOAT32) -> Function:
    return Function(
        name="f",
        summary="s",
        arguments=(
            Argument(name="x", role=Role.INPUT, shape=("n",), dtypes=(dtype,)),
            Argument(name="y", role=role, shape=("n",), dtypes=(dtype,)),
        ),
    )


class Scene:
    def __init__(self, made: Function, slots: int, calls: int, shifts: int = 1) -> None:
        (dtype,) = made.arguments[0].dtypes or ()
        spec = TensorSpec(shape=(N,), dtype=dtype)
        row = Row(id="r", function="f", tensors={"x": spec, "y": spec})
        self.layout: RowLayout = lay_out(made, row, slots, shifts)
        self.memory = HostMemory(self.layout.bytes, "test")
        self.views = Views(self.memory, self.layout)
        like = getattr(torch, dtype.value)
        source = RowSource(
            made, row, lambda: {name: torch.arange(N).to(like) for name in ("x", "y")}
        )
        self.pools = Pools(source, self.layout)
        self.pools.refresh(self.views, slice(0, slots))
        self.lot = random.Random(3)
        self.turn: Turn = deal(slice(0, slots), calls, 2, self.lot, shifts=shifts)

    def touches(self, most: int = 1 << 20) -> Touches:
        return Touches(self.memory, self.layout, self.pools, self.turn, self.lot, most)


def test_every_call_changes_its_input_and_the_change_is_known() -> None:
    scene = Scene(function(), slots_wanted(12, 2), 12)
    place = scene.layout.places["x"]
    before = scene.views.storage(place).clone()
    touches = scene.touches()
    assert sorted(touches.gates) == list(range(12))
    assert torch.equal(scene.views.storage(place), before)
    for gate in touches.gates.values():
        gate()
    assert sorted(touches.slots) == sorted(scene.turn.timed)
    for slot in scene.turn.timed:
        changed = (scene.views.storage(place)[slot] != before[slot]).nonzero()
        assert 1 <= len(changed) <= 16
        assert scene.pools.unchanged(scene.views, slot, place)
        assert torch.equal(scene.pools.written(place, slot), scene.views.tensor(place, slot))
    for slot in (*scene.turn.warm, *scene.turn.uncalled):
        assert torch.equal(scene.views.storage(place)[slot], before[slot])


def test_what_somebody_else_changed_is_told_from_a_touch() -> None:
    scene = Scene(function(), slots_wanted(12, 2), 12)
    place = scene.layout.places["x"]
    touches = scene.touches()
    for gate in touches.gates.values():
        gate()
    slot = scene.turn.timed[4]
    scene.views.tensor(place, slot)[50] += 1
    assert not scene.pools.unchanged(scene.views, slot, place)
    scene.pools.refresh(scene.views, slice(0, scene.layout.slots))
    assert scene.pools.unchanged(scene.views, slot, place)


def test_a_slot_called_again_and_again_is_touched_before_its_last_call() -> None:
    scene = Scene(function(), FEWEST_SLOTS + 4, 80)
    touches = scene.touches()
    assert touches.gates
    assert scene.turn.seen_by
    for index in touches.gates:
        assert scene.turn.timed[index] not in scene.turn.timed[index + 1 :]


def test_a_touch_is_in_what_the_call_sees_at_its_shift() -> None:
    scene = Scene(function(), FEWEST_SLOTS + 4, 80, shifts=9)
    place = scene.layout.places["x"]
    for index, gate in scene.touches().gates.items():
        slot, shift = scene.turn.timed[index], scene.turn.shift_at(index)
        assert shift == scene.turn.last_shift[slot]
        before = scene.views.tensor(place, slot, shift).clone()
        gate()
        assert not torch.equal(scene.views.tensor(place, slot, shift), before)
        known = scene.pools.written(place, slot, shift)
        assert torch.equal(known, scene.views.tensor(place, slot, shift))


def test_no_more_of_them_than_allowed() -> None:
    scene = Scene(function(), slots_wanted(12, 2), 12)
    assert len(scene.touches(most=5).gates) == 5
    assert scene.touches(most=0).slots == []


def test_where_calls_change_their_content_only_slots_called_once_are_touched() -> None:
    scene = Scene(function(Role.INOUT), FEWEST_SLOTS + 4, 80)
    assert set(scene.touches().slots) <= set(scene.turn.called_once)


@pytest.mark.parametrize("dtype", [DType.INT32, DType.BOOL])
def test_whole_numbers_are_left_alone(dtype: DType) -> None:
    assert Scene(function(dtype=dtype), slots_wanted(12, 2), 12).touches().gates == {}
