"""A turn: which slots one batch calls, in which order, and what is done to them on the way.

Where there is room each call has a slot of its own. Where a row is too large for that, slots are
called again and again, and a solution might leave out a call whose answer already lies there. So
some slots *retire*: after one of their calls was seen to be done (by a marker, a slot called only
once and right after it), a piece of their output is spoilt, and one more call must mend it.

    … s m … (m is written, so s was: spoil s) … s … and never again

In the graph lane what is called is not a slot but a unit of several, captured in one graph: the
launch of a graph costs more than a small kernel does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

UNCALLED = 2
"""Slots of each window that no call is given: they must keep their poison."""
LAST = 2
"""Slots called once, at the very end: what is read to see that a batch is over."""
RETIRING = 2
FEWEST_SLOTS = UNCALLED + LAST + RETIRING + 4
_PATIENCE = 8
"""Calls between the one that is spoilt and the one that mends it, so that the device has work
while the referee looks; fewer where a batch is short."""


@dataclass(frozen=True)
class Retirement:
    """One slot's last call but one, and its last."""

    slot: int
    marker: int
    call: int
    """Index among the timed calls; the marker is called right after it."""
    last_call: int
    """Before this one is revealed the slot's output is spoilt."""


@dataclass(frozen=True)
class Turn:
    """Units are numbered as slots are, and each is `size` of them in a row."""

    window: slice
    """Of slots: all that this turn may touch."""
    uncalled: tuple[int, ...]
    warm: tuple[int, ...]
    timed: tuple[int, ...]
    retiring: Mapping[int, Retirement] = field(default_factory=dict)
    """By the index of the last call."""
    size: int = 1

    def slots_of(self, *units: int) -> tuple[int, ...]:
        return tuple(
            slot for unit in units for slot in range(unit * self.size, (unit + 1) * self.size)
        )

    @property
    def last_slots(self) -> tuple[int, ...]:
        """What is written at the very end, the latest first."""
        return tuple(self.slots_of(unit)[-1] for unit in self.timed[-1 : -LAST - 1 : -1])

    @property
    def called_once(self) -> tuple[int, ...]:
        """Slots whose output is that of one call on the content that the referee put there."""
        seen = Counter((*self.warm, *self.timed))
        return self.slots_of(*(unit for unit in dict.fromkeys(self.timed) if seen[unit] == 1))


def slots_wanted(launches: int, warm: int) -> int:
    """Slots with which no call of a batch repeats another."""
    return launches + warm + UNCALLED


def deal(window: slice, launches: int, warm: int, lot: random.Random, size: int = 1) -> Turn:
    """The next turn over the slots of a window, for at least so many calls in units of `size`."""
    launches, warm = -(-launches // size), -(-warm // size)
    order = list(range(window.start // size, window.stop // size))
    lot.shuffle(order)
    if len(order) < slots_wanted(launches, warm):
        return _rotated(window, order, launches, warm, lot, size)
    called = order[UNCALLED:]
    return Turn(
        window,
        uncalled=tuple(order[:UNCALLED]),
        warm=tuple(called[:warm]),
        timed=tuple(called[warm : warm + launches]),
        size=size,
    )


def _rotated(
    window: slice, order: Sequence[int], launches: int, warm: int, lot: random.Random, size: int
) -> Turn:
    uncalled = tuple(order[:UNCALLED])
    last = order[UNCALLED : UNCALLED + LAST]
    markers = order[UNCALLED + LAST : UNCALLED + LAST + RETIRING]
    others = order[UNCALLED + LAST + RETIRING :]
    length = max(launches - LAST, 0)
    retiring = _retirements(lot.sample(others, RETIRING), markers, length, lot)
    body = _body(others, retiring, length, lot)
    return Turn(
        window,
        uncalled,
        warm=tuple(_endless(others, warm, lot)),
        timed=(*body, *last)[-launches:],
        retiring={found.last_call: found for found in retiring},
        size=size,
    )


def _retirements(
    slots: Sequence[int], markers: Sequence[int], length: int, lot: random.Random
) -> list[Retirement]:
    """One in each of as many stretches of the batch as there are slots that retire."""
    stretch = length // len(slots)
    patience = min(_PATIENCE, stretch // 4)
    if patience < 1:
        return []
    found = []
    for number, (slot, marker) in enumerate(zip(slots, markers, strict=True)):
        first = number * stretch + lot.randrange(stretch - patience - 2)
        found.append(Retirement(slot, marker, first, first + 1 + patience))
    return found


def _body(
    slots: Sequence[int], retiring: Sequence[Retirement], length: int, lot: random.Random
) -> list[int]:
    """Slots round and round in random order, with the places of the retirements filled first."""
    fixed: dict[int, int] = {}
    leaves: dict[int, int] = {}
    for found in retiring:
        fixed |= {found.call: found.slot, found.call + 1: found.marker, found.last_call: found.slot}
        leaves[found.slot] = found.call
    body: list[int] = []
    bag: list[int] = []
    while len(body) < length:
        if len(body) in fixed:
            body.append(fixed[len(body)])
            continue
        bag = bag or lot.sample(slots, len(slots))
        slot = bag.pop()
        if len(body) < leaves.get(slot, length):
            body.append(slot)
    return body


def _endless(slots: Sequence[int], count: int, lot: random.Random) -> list[int]:
    made: list[int] = []
    while len(made) < count:
        made += lot.sample(slots, len(slots))
    return made[:count]
