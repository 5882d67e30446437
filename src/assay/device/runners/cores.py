"""Which cores play which part."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LOOPS = 20_000
_TRIALS = 60
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


def steadiest(allowed: Iterable[int], siblings: Callable[[int], set[int]]) -> Cores:
    """As `assign`, with the runners on the core that is slow least often: on a machine that is
    shared, some cores are another guest's as well. The cores are tried in turns, so that each is
    seen over the whole of the trial."""
    first = assign(allowed, siblings)
    others = [core for core in allowed if core not in {first.referee} | siblings(first.referee)]
    if len(others) < 2:
        return first
    paces: dict[int, list[int]] = {core: [] for core in others}
    for _ in range(_TRIALS):
        for core in others:
            paces[core].append(pace(core))
    return Cores(referee=first.referee, runner=min(others, key=lambda core: _slow(paces[core])))


def _slow(paces: list[int]) -> int:
    """The slowest but one or two: a single interrupt decides nothing."""
    return sorted(paces)[int(0.95 * (len(paces) - 1))]


def pace(core: int) -> int:
    """Nanoseconds of a fixed piece of interpreter's work on a core, by this thread, which then
    goes back to where it was."""
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        return min(_timed_loop() for _ in range(2))
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
