"""What a survey is asked for, and what it finds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from assay.judge.case import Contender
from assay.judge.deviation import Deviation
from assay.spec.lane import Lane


@dataclass(frozen=True)
class Entrant:
    """One solution, and the lanes it is timed in."""

    name: str
    contender: Contender
    lanes: tuple[Lane, ...] = (Lane.THROUGHPUT,)


@dataclass
class Timing:
    """One solution on one row in one lane."""

    launches: int
    host_paced: bool
    nanoseconds: list[int] = field(default_factory=list)
    """Of each batch, in order."""
    disturbed: int = 0

    @property
    def microseconds(self) -> float:
        """Of a call, in the batch in the middle."""
        return statistics.median(self.nanoseconds) / self.launches / 1000

    @property
    def spread(self) -> float:
        """From the fastest batch to the slowest, as a share of the one in the middle."""
        return (max(self.nanoseconds) - min(self.nanoseconds)) / statistics.median(self.nanoseconds)

    def content(self) -> dict[str, Any]:
        return {
            "us": self.microseconds,
            "spread": self.spread,
            "launches": self.launches,
            "nanoseconds": self.nanoseconds,
            "host_paced": self.host_paced,
            "disturbed": self.disturbed,
        }


@dataclass
class SurveyedRow:
    """All that was found on one row."""

    row: str
    bytes_read: int
    bytes_written: int
    timings: dict[tuple[str, Lane], Timing] = field(default_factory=dict)
    errors: dict[str, Deviation] = field(default_factory=dict)
    """By solution: how far its answer is from the truth."""
    kernels: dict[str, list[str]] = field(default_factory=dict)
    """By solution that a lock pins: what its calls were seen to launch."""
    failures: dict[str, str] = field(default_factory=dict)
    """By solution: why there are no figures of it."""

    def content(self) -> dict[str, Any]:
        timings: dict[str, dict[str, Any]] = {}
        for (name, lane), timing in self.timings.items():
            timings.setdefault(name, {})[lane.value] = timing.content()
        return {
            "row": self.row,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "timings": timings,
            "errors": {name: error.content() for name, error in self.errors.items()},
            "kernels": dict(self.kernels),
            "failures": dict(self.failures),
        }


@dataclass(frozen=True)
class Pace:
    """How much is measured."""

    generations: int = 2
    readings: int = 2
    """Batches of each process, row and lane."""
