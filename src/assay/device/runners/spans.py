"""Spans: a few bytes of a call's outputs, known before the call and read again after it.

An output holds poison before a call, so a call that happened has changed it. An argument that is
changed in place holds content, of which a call may leave some as it was: there only a change is
evidence, and a piece of many kilobytes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.device.runners.layout import Place
from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Memory
from assay.spec.task import Role

READ_BYTES = 4 << 10
_SPOILT_BYTES = 128 << 10
_FEWEST_BYTES = 32
"""Of fewer bytes an honest answer may happen to be all poison."""
_SETTLE_SECONDS = 0.005


@dataclass(frozen=True)
class Span:
    """Bytes from `start` that were `before`."""

    start: int
    before: bytes
    output: bool
    """Whether it held poison, so that every call must change it."""

    def read(self, memory: Memory) -> bytes:
        return memory.read(self.start, len(self.before))

    def unchanged(self, memory: Memory) -> bool:
        return self.read(memory) == self.before


def spans_of(
    memory: Memory, layout: RowLayout, slots: Sequence[int], lot: random.Random
) -> list[Span]:
    """One random span in each written argument of each slot, as it is now."""
    return [
        _piece(memory, layout, place, slot, READ_BYTES, lot)
        for slot in slots
        for place in layout.written()
        if place.storage_bytes >= _FEWEST_BYTES
    ]


def spoilt_piece(memory: Memory, layout: RowLayout, slot: int, lot: random.Random) -> Span | None:
    """A larger piece of a slot's first written argument with the bytes that it has before any
    call: written there again, only another call of that slot can make them go away."""
    for place in layout.written():
        if place.storage_bytes >= _FEWEST_BYTES:
            return _piece(memory, layout, place, slot, _SPOILT_BYTES, lot)
    return None


def _piece(
    memory: Memory, layout: RowLayout, place: Place, slot: int, most: int, lot: random.Random
) -> Span:
    size = place.tensor.dtype.itemsize
    count = min(most, place.storage_bytes) // size
    first = lot.randrange(place.tensor.storage_elements - count + 1)
    start = layout.start(place, slot) + first * size
    before = memory.read(start, count * size)
    return Span(start, before, place.argument.role is Role.OUTPUT)


def late(memory: Memory, spans: Sequence[Span], seen: Sequence[bytes]) -> str | None:
    """What is wrong with what was read at the ring: work that came later, or never."""
    stale = [span for span, now in zip(spans, seen, strict=True) if now == span.before]
    if not stale:
        return None
    deadline = time.monotonic() + _SETTLE_SECONDS
    while time.monotonic() < deadline:
        if not all(span.unchanged(memory) for span in stale):
            return "it rang before its last outputs were written"
    if any(span.output for span in stale):
        return "a call left its outputs unwritten"
    return None
