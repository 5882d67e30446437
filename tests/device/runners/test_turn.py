"""Which slots a batch calls: every promise of a turn, on many of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.device.runners.turn import FEWEST_SLOTS
from assay.device.runners.turn import RETIRING
from assay.device.runners.turn import UNCALLED
from assay.device.runners.turn import Turn
from assay.device.runners.turn import deal
from assay.device.runners.turn import slots_wanted

SIZES = st.tuples(
    st.integers(FEWEST_SLOTS, 60), st.integers(1, 300), st.integers(0, 20), st.integers(0, 2**32)
)


def dealt(slots: int, launches: int, warm: int, seed: int) -> Turn:
    return deal(slice(5, 5 + slots), launches, warm, random.Random(seed))


def test_with_room_each_call_has_a_slot_of_its_own() -> None:
    turn = dealt(slots_wanted(20, 3), 20, 3, 1)
    called = (*turn.warm, *turn.timed, *turn.uncalled)
    assert sorted(called) == list(range(5, 5 + 25))
    assert turn.called_once == turn.timed
    assert turn.retiring == {}


@given(SIZES)
def test_a_turn_has_the_calls_that_were_asked_for(sizes: tuple[int, int, int, int]) -> None:
    slots, launches, warm, seed = sizes
    turn = dealt(slots, launches, warm, seed)
    assert len(turn.timed) == launches
    assert len(turn.warm) == warm
    assert len(turn.uncalled) == UNCALLED
    every = {*turn.warm, *turn.timed}
    assert every.isdisjoint(turn.uncalled)
    assert every | set(turn.uncalled) <= set(range(5, 5 + slots))
    # The end of a batch is read from slots that nothing else has written.
    assert set(turn.timed[-2:]) <= set(turn.called_once)


@given(SIZES)
def test_a_slot_that_retires_is_called_before_its_marker_and_once_after(
    sizes: tuple[int, int, int, int],
) -> None:
    turn = dealt(*sizes)
    for index, found in turn.retiring.items():
        assert index == found.last_call
        assert turn.timed[found.call] == found.slot
        assert turn.timed[found.call + 1] == found.marker
        assert turn.timed[found.last_call] == found.slot
        assert found.call + 1 < found.last_call
        assert found.slot not in turn.timed[found.call + 1 : found.last_call]
        assert found.slot not in turn.timed[found.last_call + 1 :]
        assert found.marker in turn.called_once


def test_long_batches_on_few_slots_have_all_their_retirements() -> None:
    for seed in range(50):
        assert len(dealt(FEWEST_SLOTS, 200, 8, seed).retiring) == RETIRING


def test_a_retiring_slot_may_have_been_called_any_number_of_times_before() -> None:
    """Else a solution could leave out from some ordinal on what it knows."""
    ordinals = set()
    for seed in range(200):
        turn = dealt(FEWEST_SLOTS, 100, 4, seed)
        for found in turn.retiring.values():
            ordinals.add(turn.timed[: found.last_call].count(found.slot))
    assert {1, 2, 3, 5, 8} <= ordinals


@given(SIZES, st.integers(2, 6))
def test_units_of_several_slots_keep_every_promise(
    sizes: tuple[int, int, int, int], size: int
) -> None:
    units, launches, warm, seed = sizes
    turn = deal(slice(0, units * size + 1), launches, warm, random.Random(seed), size)
    assert len(turn.timed) * size >= launches > (len(turn.timed) - 1) * size
    called, uncalled = turn.slots_of(*turn.timed, *turn.warm), turn.slots_of(*turn.uncalled)
    assert set(called).isdisjoint(uncalled)
    assert max((*called, *uncalled)) < units * size
    assert len(uncalled) == UNCALLED * size
    assert set(turn.last_slots) <= set(turn.called_once)
    assert turn.last_slots[0] == turn.timed[-1] * size + size - 1


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_a_pilot_of_few_calls_needs_no_retirement(launches: int) -> None:
    turn = dealt(FEWEST_SLOTS, launches, 64, 7)
    assert len(turn.timed) == launches
    assert turn.retiring == {}
