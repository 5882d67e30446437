"""Whether a runner rests when it is not its turn.

A runner is asleep between an answer and the next request. Work that goes on meanwhile, in a thread
or in a process that it started, takes the core from its rival or finishes what it said was done.
The kernel counts processor time per process, whoever looks.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

LEAST_NANOSECONDS = 2_000_000
"""What going to sleep may take, a collection of garbage included."""
SHARE = 0.01
"""Of a longer rest, what may be used: threads of libraries wake now and then."""
CERTAIN_NANOSECONDS = 25_000_000
"""Beyond this nobody has just been slow to fall asleep. Below it once may be an accident: while
another guest of the machine has the core, the kernel counts on for who is on it."""
FORGIVEN_NANOSECONDS = 10_000_000
FORGIVEN_SHARE = 0.005
"""But not again and again: of what is beyond the usual, so much in all, and of all rests."""


def processor_nanoseconds(pid: int) -> int:
    """Processor time that a process and its living descendants have used so far, threads that
    have ended included; 0 for one that is gone."""
    with contextlib.suppress(OSError):
        # The kernel's number for the processor clock of a process: its pid, inverted, kind 2.
        own = time.clock_gettime_ns((~pid << 3) | 2)
        return own + sum(processor_nanoseconds(child) for child in _children(pid))
    return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with (
            contextlib.suppress(OSError),  # a thread that has just ended
            open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as listed,
        ):
            found += map(int, listed.readall().split())
    return found


@dataclass
class Unrest:
    """What the processes of one program have worked beyond the usual in their rests, all of them
    together: each of them lives for a few rests only."""

    beyond: float = 0.0
    rested: int = 0

    def add(self, beyond: float, rested: int) -> bool:
        """Whether it is too much by now."""
        self.beyond += beyond
        self.rested += rested
        return self.beyond > FORGIVEN_NANOSECONDS + FORGIVEN_SHARE * self.rested


class Rest:
    """One runner's rests, from answer to request."""

    def __init__(self, pid: int, unrest: Unrest | None = None) -> None:
        self._pid = pid
        self._begun: tuple[int, int] | None = None
        self._unrest = unrest or Unrest()

    def begin(self) -> None:
        self._begun = (time.monotonic_ns(), processor_nanoseconds(self._pid))

    def end(self) -> int:
        """Nanoseconds that it worked in a rest, where that is to be held against it; else 0."""
        if self._begun is None:
            return 0
        since, used = self._begun
        self._begun = None
        worked = processor_nanoseconds(self._pid) - used
        rested = time.monotonic_ns() - since
        beyond = max(0.0, worked - LEAST_NANOSECONDS - SHARE * rested)
        too_much = self._unrest.add(beyond, rested)
        return worked if beyond and (too_much or beyond > CERTAIN_NANOSECONDS) else 0
