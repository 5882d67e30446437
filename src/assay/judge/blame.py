"""Blame: whose fault it is that a baseline failed while it was timed beside a candidate.

A candidate that works on the device out of its turn makes the baseline look as if it did. So it is
tried: the baseline alone, and then in turns with the candidate. Only what happens beside the
candidate and not without it is laid at its door.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.spec.lane import Lane
from assay.spec.status import ViolationKind

_TURNS = 24
_BATCH_NANOSECONDS = 40_000_000
_MOST_LAUNCHES = 1024
_WARM = 8


def culprit(
    device: RunnerDevice, baseline: Program, candidate: Program, row: str, lane: Lane
) -> ProcessFailure | None:
    """What the candidate is to be accused of; None where it is not shown to have a part in it."""
    with device.start(baseline) as alone:
        try:
            call = alone.time(row, lane, 1, _WARM).nanoseconds
            launches = min(_MOST_LAUNCHES, math.ceil(_BATCH_NANOSECONDS / call))
            _turns(alone, row, lane, launches)
        except ProcessFailure:
            return None
    try:
        other = device.start(candidate)
    except ProcessFailure as failure:
        return failure
    with other, device.start(baseline) as beside:
        own: list[ProcessFailure] = []

        def its_turn() -> None:
            try:
                other.time(row, lane, launches, _WARM)
            except ProcessFailure as failure:
                own.append(failure)
                raise

        try:
            _turns(beside, row, lane, launches, its_turn)
        except ProcessFailure as failure:
            return own[0] if own else _disturbed(failure)
    return None


def _turns(
    process: RunnerProcess,
    row: str,
    lane: Lane,
    launches: int,
    between: Callable[[], None] = lambda: None,
) -> None:
    for _ in range(_TURNS):
        between()
        process.time(row, lane, launches, _WARM)


def _disturbed(failure: ProcessFailure) -> ProcessFailure:
    return violation(
        ViolationKind.OUT_OF_TURN,
        f"beside it the baseline fails, alone it does not: {failure}",
    )
