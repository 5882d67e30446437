"""Which cores play which part."""

from __future__ import annotations

import os
from dataclasses import dataclass


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
    """The first allowed core for the referee, the last for the runners: interrupts tend to be
    served by the first."""
    allowed = sorted(os.sched_getaffinity(0))
    return Cores(referee=allowed[0], runner=allowed[-1])
