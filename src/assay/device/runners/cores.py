"""Which cores play which part."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_LOOPS = 20_000
_FIRST_TRIALS = 3
_REMEMBERED = 101
_QUIET = 0.1
"""A core that is slower than usual by more than this share is left for another."""
_MEMORY = 0.8
"""What a core's record keeps of itself at each new look."""
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass(frozen=True)
class Cores:
    """Who runs where. All runners share one core and take turns on it."""

    referee: int
    runner: int

    @property
    def shared(self) -> bool:
        """One core for both sides: the referee's waiting then costs the runner time."""
        return self.referee == self.runner


def choose_cores() -> Cores:
    return assign(os.sched_getaffinity(0), siblings_of)


def assign(allowed: Iterable[int], siblings: Callable[[int], set[int]]) -> Cores:
    """The first allowed core for the referee, the last for the runners: interrupts tend to be
    served by the first. A referee that waits on the other thread of a runner's core would slow it
    down, so such a core is taken only where there is no other.

    >>> assign(range(4), lambda core: {core, core ^ 1})
    Cores(referee=0, runner=3)
    >>> assign((2, 3), lambda core: {core, core ^ 1})
    Cores(referee=2, runner=3)
    >>> assign((0, 1, 2, 3), lambda core: {core, (core + 3) % 6})
    Cores(referee=1, runner=3)
    """
    order = sorted(allowed)
    runner = order[-1]
    apart = [core for core in order if core not in siblings(runner)]
    return Cores(referee=(apart or order)[0], runner=runner)


class QuietCore:
    """The core that runners use, exchanged when somebody from outside is on it.

    On a machine that is shared with other guests a core may be half as fast for some tenths of a
    second, because its other thread is another guest's. Nothing inside tells, except its pace.
    """

    def __init__(self, core: int, others: Sequence[int]) -> None:
        self.core = core
        self._others = [other for other in others if other != core]
        seen = [min(pace(each) for _ in range(_FIRST_TRIALS)) for each in (core, *self._others)]
        # One of the faster ones: at any time some may be slow, but hardly three in four.
        self._usual = deque([sorted(seen)[len(seen) // 4]], maxlen=_REMEMBERED)
        self._records: dict[int, float] = {}
        """By core, how slow it was of late: some have a busy neighbour most of the time."""

    @classmethod
    def among(cls, cores: Cores) -> Self:
        """Any core but the referee's, and those that are one with it."""
        taken = siblings_of(cores.referee) - {cores.runner}
        return cls(cores.runner, sorted(os.sched_getaffinity(0) - taken))

    def settle(self) -> float:
        """Stay, or go to a core that is at its usual pace, those with the best record first; how
        slow it is there."""
        slowness = self.slowness(self.core)
        if slowness <= 1 + _QUIET:
            return slowness
        random.shuffle(self._others)
        self._others.sort(key=lambda core: self._records.get(core, 1.0))
        for index, other in enumerate(self._others):
            found = self.slowness(other)
            if found <= 1 + _QUIET:
                self._others[index], self.core = self.core, other
                return found
        return slowness

    def slowness(self, core: int) -> float:
        """The pace of a core now, as a multiple of the usual one."""
        now = pace(core)
        usual = statistics.median(self._usual)
        if now <= (1 + _QUIET) * usual:
            self._usual.append(now)  # slow ones are no measure of what is usual
        before = self._records.get(core, 1.0)
        self._records[core] = _MEMORY * before + (1 - _MEMORY) * max(now / usual, 1.0)
        return now / usual


def pace(core: int) -> int:
    """Nanoseconds of a fixed piece of interpreter's work on a core, by this thread, which then
    goes back to where it was."""
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        return min(_timed_loop() for _ in range(3))
    finally:
        os.sched_setaffinity(0, home)


def _timed_loop() -> int:
    begun = time.perf_counter_ns()
    for _ in range(_LOOPS):
        pass
    return time.perf_counter_ns() - begun


def siblings_of(core: int) -> set[int]:
    """The cores that are threads of one with this, itself among them."""
    try:
        text = Path(_TOPOLOGY.format(core)).read_text()
    except OSError:
        return {core}
    return {core, *parse_cores(text)}


def parse_cores(text: str) -> set[int]:
    """
    >>> sorted(parse_cores("0,4-6\\n"))
    [0, 4, 5, 6]
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found
