"""A turn: which slots one batch calls, in which order, and when it is seen that calls were made.

Where there is room each call has a slot of its own. Where a row is too large for that, slots are
called again and again. A solution might then leave out a call whose answer already lies there, or
hold calls back and make only the last of each slot. So a piece of the output is spoilt before some
calls, drawn by lot, and some calls later, drawn too, no more is revealed until it has been mended:

    … s … … … (s is mended, so go on) … … s …
      |
      spoilt before this call

Two calls of a slot lie at least half a round apart, which is more than can ever be under way
without having been seen. What is held back must then all be made, whichever slot it was.

And each call of a slot sees the slot's inputs at another shift, so that no content comes twice and
an answer that was kept answers nothing.

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
from dataclasses import replace
from functools import cached_property

UNCALLED = 2
"""Slots of each window that no call is given: they must keep their poison."""
LAST = 2
"""Slots called once, at the very end: what is read to see that a batch is over."""
FEWEST_SLOTS = UNCALLED + LAST + 10
LEAST_SLOTS = 6
"""With which a row is timed that is too large for more. One slot is then uncalled, one the last,
and nearly every call is waited for: the device idles a little between long calls."""
_FEWEST_WAITING = 2
"""Calls that are under way while the referee looks, so that the device has work."""
_ENOUGH = 8
"""Slots that are called again and again, from which on so many can be."""


@dataclass(frozen=True)
class Turn:
    """Units are numbered as slots are, and each is `size` of them in a row."""

    window: slice
    """Of slots: all that this turn may touch."""
    uncalled: tuple[int, ...]
    warm: tuple[int, ...]
    timed: tuple[int, ...]
    seen_by: Mapping[int, int] = field(default_factory=dict)
    """By the index of a call before which its slot is spoilt, that of the call which is not
    revealed before the slot has been mended."""
    size: int = 1
    last: int = LAST
    """Units called once, at the very end."""
    shifts: int = 1
    first_shift: int = 0

    def slots_of(self, *units: int) -> tuple[int, ...]:
        return tuple(
            slot for unit in units for slot in range(unit * self.size, (unit + 1) * self.size)
        )

    @cached_property
    def _shifts(self) -> tuple[int, ...]:
        """Of the warm calls and then the timed ones: one further every time a slot is called."""
        called: Counter[int] = Counter()
        found = []
        for unit in (*self.warm, *self.timed):
            found.append((self.first_shift + called[unit]) % self.shifts)
            called[unit] += 1
        return tuple(found)

    def shift_at(self, index: int) -> int:
        """Of a timed call."""
        return self._shifts[len(self.warm) + index]

    @cached_property
    def last_shift(self) -> Mapping[int, int]:
        """By unit, of its last call."""
        return dict(zip((*self.warm, *self.timed), self._shifts, strict=True))

    def numbers(self, slots: int) -> tuple[list[int], list[int]]:
        """The warm and the timed calls as a runner counts them: all of `slots` at the first shift,
        then all of them at the next."""
        units = (*self.warm, *self.timed)
        every = [shift * slots + unit for shift, unit in zip(self._shifts, units, strict=True)]
        return every[: len(self.warm)], every[len(self.warm) :]

    @property
    def last_slots(self) -> tuple[int, ...]:
        """What is written at the very end, the latest first."""
        return tuple(self.slots_of(unit)[-1] for unit in self.timed[-1 : -self.last - 1 : -1])

    @cached_property
    def called_once(self) -> tuple[int, ...]:
        """Slots whose output is that of one call on the content that the referee put there."""
        seen = Counter((*self.warm, *self.timed))
        return self.slots_of(*(unit for unit in dict.fromkeys(self.timed) if seen[unit] == 1))


def shifts_wanted(launches: int, warm: int, slots: int) -> int:
    """Shifts with which no call of a batch sees what another has seen; 1 where each call has a slot
    of its own."""
    if slots >= slots_wanted(launches, warm):
        return 1
    uncalled, last = _set_apart(slots)
    return -(-(launches + warm) // (slots - uncalled - last)) + 1


def _set_apart(slots: int) -> tuple[int, int]:
    """How many of so many slots are never called, and how many at the very end."""
    return (UNCALLED, LAST) if slots >= UNCALLED + LAST + _ENOUGH else (1, 1)


def slots_wanted(launches: int, warm: int) -> int:
    """Slots with which no call of a batch repeats another."""
    return launches + warm + UNCALLED


def deal(
    window: slice, launches: int, warm: int, lot: random.Random, size: int = 1, shifts: int = 1
) -> Turn:
    """The next turn over the slots of a window, for at least so many calls in units of `size`."""
    launches, warm = -(-launches // size), -(-warm // size)
    order = list(range(window.start // size, window.stop // size))
    lot.shuffle(order)
    if len(order) < slots_wanted(launches, warm):
        rotated = _rotated(window, order, launches, warm, lot, size)
        return replace(rotated, shifts=shifts, first_shift=lot.randrange(shifts))
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
    none, once = _set_apart(len(order))
    last = order[none : none + once]
    others = order[none + once :]
    length = max(launches - once, 0)
    return Turn(
        window,
        uncalled=tuple(order[:none]),
        last=once,
        warm=tuple(_endless(others, warm, lot)),
        timed=(*_body(others, length, lot), *last)[-launches:],
        seen_by=_evidence(len(others), length, lot),
        size=size,
    )


def _body(slots: Sequence[int], length: int, lot: random.Random) -> list[int]:
    """Round and round, one half of the slots in random order and then the other, so that two calls
    of one slot are more than half a round apart."""
    half = len(slots) // 2
    body: list[int] = []
    while len(body) < length:
        body += lot.sample(slots[:half], half)
        body += lot.sample(slots[half:], len(slots) - half)
    return body[:length]


def _evidence(slots: int, length: int, lot: random.Random) -> dict[int, int]:
    """Which calls are seen to be made, and before which others: from one of them to the next, and
    from there to where it must have been seen, it is no more than half a round. Where a runner is
    kept waiting says little of which call is waited for: it may be any in twice the longest gap."""
    waiting, gap = max(_FEWEST_WAITING, slots // 12), 1
    longest = slots // 2 - 1
    if slots >= _ENOUGH:
        gap = max(1, (slots // 2 - waiting) // 3)
        longest = 2 * gap
    else:
        waiting = 1
    found: dict[int, int] = {}
    at = lot.randrange(gap)
    while at < length:
        found[at] = at + waiting + lot.randint(0, longest)
        at += lot.randint((gap + 1) // 2, gap)
    return found


def _endless(slots: Sequence[int], count: int, lot: random.Random) -> list[int]:
    made: list[int] = []
    while len(made) < count:
        made += lot.sample(slots, len(slots))
    return made[:count]
