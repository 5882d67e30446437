"""Which slots a batch calls: every promise of a turn, on many of them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.device.runners.turn import FEWEST_SLOTS
from assay.device.runners.turn import LEAST_SLOTS
from assay.device.runners.turn import UNCALLED
from assay.device.runners.turn import Turn
from assay.device.runners.turn import deal
from assay.device.runners.turn import shifts_wanted
from assay.device.runners.turn import slots_wanted

SIZES = st.tuples(
    st.integers(LEAST_SLOTS, 60), st.integers(1, 300), st.integers(0, 20), st.integers(0, 2**32)
)


def dealt(slots: int, launches: int, warm: int, seed: int) -> Turn:
    return deal(slice(5, 5 + slots), launches, warm, random.Random(seed))


def test_with_room_each_call_has_a_slot_of_its_own() -> None:
    turn = dealt(slots_wanted(20, 3), 20, 3, 1)
    called = (*turn.warm, *turn.timed, *turn.uncalled)
    assert sorted(called) == list(range(5, 5 + 25))
    assert turn.called_once == turn.timed
    assert turn.seen_by == {}


@given(SIZES)
def test_a_turn_has_the_calls_that_were_asked_for(sizes: tuple[int, int, int, int]) -> None:
    slots, launches, warm, seed = sizes
    turn = dealt(slots, launches, warm, seed)
    assert len(turn.timed) == launches
    assert len(turn.warm) == warm
    tight = slots < min(12, slots_wanted(launches, warm))
    assert len(turn.uncalled) == (1 if tight else UNCALLED)
    every = {*turn.warm, *turn.timed}
    assert every.isdisjoint(turn.uncalled)
    assert every | set(turn.uncalled) <= set(range(5, 5 + slots))
    # The end of a batch is read from slots that nothing else has written.
    assert set(turn.timed[-turn.last :]) <= set(turn.called_once)
    assert turn.last == (1 if tight else 2)


@given(SIZES)
def test_calls_of_a_slot_lie_further_apart_than_can_be_under_way_unseen(
    sizes: tuple[int, int, int, int],
) -> None:
    slots, launches, warm, seed = sizes
    turn = dealt(slots, launches, warm, seed)
    if not turn.seen_by:
        return
    apart = min(
        (
            later - index
            for index, slot in enumerate(turn.timed)
            for later in [next((k for k in range(index + 1, launches) if turn.timed[k] == slot), 0)]
            if later
        ),
        default=len(turn.timed) + 2 * slots,  # no slot comes again
    )
    seen = sorted(turn.seen_by)
    for call, following in pairwise(seen):
        assert following - call + max(turn.seen_by[c] - c for c in seen) <= apart
    assert seen[0] <= apart
    assert all(by >= call + (2 if slots >= 12 else 1) for call, by in turn.seen_by.items())


@pytest.mark.parametrize("slots", [LEAST_SLOTS, 8, 9, FEWEST_SLOTS, 16, 20, 30, 60, 200, 512])
def test_holding_calls_back_saves_none_of_them(slots: int) -> None:
    """A solution that works only when it is kept waiting, and then once for each slot."""
    for seed in range(5):
        turn = dealt(slots, 1500, 8, seed)
        awaited: dict[int, list[int]] = {}
        for call, by in turn.seen_by.items():
            awaited.setdefault(by, []).append(call)
        held: list[int] = []
        made, first_held = 0, 0
        for index, slot in enumerate(turn.timed):
            if any(call >= first_held for call in awaited.get(index, ())):
                made += len(set(held))
                held, first_held = [], index
            held.append(slot)
        assert made + len(set(held)) == 1500


@pytest.mark.parametrize("slots", [LEAST_SLOTS, 8, 9, FEWEST_SLOTS, 16, 20, 30, 60])
def test_guessing_which_call_is_waited_for_saves_next_to_none(slots: int) -> None:
    """One that knows the rule, makes only the calls that it can be about, and of each slot the
    last one in the end."""
    for seed in range(3):
        turn = dealt(slots, 1000, 8, seed)
        least = min(by - call for call, by in turn.seen_by.items())
        most = max(by - call for call, by in turn.seen_by.items())
        made: set[int] = set()
        good: set[int] = set()  # made, or followed by one of the same slot that was
        for index in sorted(set(turn.seen_by.values())):
            if all(call in good for call, by in turn.seen_by.items() if by == index):
                continue
            for call in range(max(0, index - most), min(index - least, 999) + 1):
                if call not in good:
                    made.add(call)
                    good |= {k for k in range(call + 1) if turn.timed[k] == turn.timed[call]}
        last = {slot: call for call, slot in enumerate(turn.timed)}
        made |= {call for call in last.values() if call not in good}
        assert len(made) > 950


def test_a_spoilt_slot_may_have_been_called_any_number_of_times_before() -> None:
    """Else a solution could leave out from some ordinal on what it knows."""
    ordinals = set()
    for seed in range(50):
        turn = dealt(FEWEST_SLOTS, 100, 4, seed)
        ordinals |= {turn.timed[:call].count(turn.timed[call]) for call in turn.seen_by}
    assert {0, 1, 2, 3, 5, 8} <= ordinals


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
    assert len(uncalled) in {size, UNCALLED * size}
    assert set(turn.last_slots) <= set(turn.called_once)
    assert turn.last_slots[0] == turn.timed[-1] * size + size - 1


@pytest.mark.parametrize("launches", [1, 2])
def test_a_pilot_of_few_calls_is_seen_at_its_end(launches: int) -> None:
    turn = dealt(FEWEST_SLOTS, launches, 64, 7)
    assert len(turn.timed) == launches
    assert turn.seen_by == {}


@given(SIZES)
def test_with_enough_shifts_no_call_sees_what_another_has_seen(
    sizes: tuple[int, int, int, int],
) -> None:
    slots, launches, warm, seed = sizes
    shifts = shifts_wanted(launches, warm, slots)
    turn = deal(slice(5, 5 + slots), launches, warm, random.Random(seed), shifts=shifts)
    warm_numbers, numbers = turn.numbers(1000)
    every = warm_numbers + numbers
    assert len(set(every)) == len(every) == launches + warm
    assert [number % 1000 for number in numbers] == list(turn.timed)
    assert [number // 1000 for number in numbers] == [turn.shift_at(k) for k in range(launches)]
    assert max(every) < 1000 * shifts
    last = {number % 1000: number // 1000 for number in every}
    assert turn.last_shift == last


def test_where_each_call_has_a_slot_there_is_one_shift() -> None:
    assert shifts_wanted(20, 3, slots_wanted(20, 3)) == 1
    turn = dealt(slots_wanted(20, 3), 20, 3, 1)
    assert turn.numbers(1000) == (list(turn.warm), list(turn.timed))
