"""What this host's processor is, and which cores play which part."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_USUAL_CACHE = 32 << 20


def last_level_cache_bytes() -> int:
    """Size of the largest cache that the kernel lists; a usual size where it lists none."""
    sizes = [_size(path.read_text()) for path in _CACHES.glob("index*/size")]
    return max(sizes, default=_USUAL_CACHE)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0


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
