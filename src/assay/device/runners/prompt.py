"""Prompt: where a call that has returned is done, some are seen to be so before more is revealed.

A runner that says so without having worked could be shown a whole batch and do it in one piece.
Which calls are looked at is drawn by lot for every batch.
"""

from __future__ import annotations

import random
import time

from assay.device.failure import violation
from assay.device.runners.batch import Gate
from assay.device.runners.spans import Span
from assay.device.runners.spans import Spans
from assay.device.runners.turn import Turn
from assay.spec.status import ViolationKind

AHEAD = 2
"""When a call is revealed, the one so many before it has been said to be done."""
_LOOKS = 32
_BYTES = 64
_PATIENCE_SECONDS = 0.002
"""For what was written to arrive on another core; work that is done in it is not gained."""


def prompt_gates(spans: Spans, turn: Turn, lot: random.Random) -> dict[int, Gate]:
    """By the index of a call: the one before the last has changed its outputs."""
    if not spans.shows_poison:
        return {}
    fresh = set(turn.called_once)
    gates: dict[int, Gate] = {}
    later = range(AHEAD, len(turn.timed))
    for index in lot.sample(later, min(_LOOKS, len(later))):
        slot = lot.choice(turn.slots_of(turn.timed[index - AHEAD]))
        if slot in fresh:
            gates[index] = _gate(spans, spans.first_output(slot, _BYTES))
    return gates


def _gate(spans: Spans, span: Span) -> Gate:
    read, start, count, before = spans.memory.read, span.start, len(span.before), span.before

    def see() -> None:
        if read(start, count) != before:
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while read(start, count) == before:
            if time.monotonic() > deadline:
                raise violation(
                    ViolationKind.EARLY_RING, "it said that a call was done which was not"
                )

    return see
