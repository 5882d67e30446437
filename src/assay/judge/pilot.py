"""The pilot: how long a call of a row takes, found before anything is planned."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.device import Process
from assay.device._base import HOST_PACED
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits

_READINGS = 2
_SECONDS = 0.005


@dataclass(frozen=True)
class Pilot:
    """What was found of one solution on one row."""

    call_seconds: float
    host_paced: bool


def fly(process: Process, row: str, lane: Lane, traits: LaneTraits) -> Pilot:
    """The smallest of a few readings: a disturbed pilot must not cost a row its blocks."""
    call = _call_seconds(process, row, lane, traits, 1)
    if traits.batch_seconds:
        # One call by itself is mostly beginning and end.
        several = min(traits.most_launches, math.ceil(_SECONDS / call))
        tries = range(_READINGS)
        call = min(call, *(_call_seconds(process, row, lane, traits, several) for _ in tries))
    return Pilot(call, process.host_share(row, lane) > HOST_PACED)


def _call_seconds(
    process: Process, row: str, lane: Lane, traits: LaneTraits, launches: int
) -> float:
    reading = process.time(row, lane, launches, traits.warm_launches)
    return max(reading.nanoseconds, 1) * 1e-9 / launches
