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
from assay.device.runners.pieces import Pieces
from assay.device.runners.views import Poison
from assay.spec.task import Role

READ_BYTES = 4 << 10
FEWEST_BYTES = 32
"""Of fewer bytes an honest answer may happen to be all poison."""
_SPOILT_BYTES = 256
"""So few that nobody finds them without reading all of an output."""
_CHANGED_BYTES = 128 << 10
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

    def restore(self, memory: Memory) -> None:
        memory.write(self.start, self.before)

    def unchanged(self, memory: Memory) -> bool:
        return self.read(memory) == self.before


class Spans:
    """Draws spans of a row whose slots have just been filled, and whose outputs hold poison."""

    def __init__(
        self, memory: Memory, layout: RowLayout, poison: Poison, lot: random.Random
    ) -> None:
        self.memory = memory
        self._layout = layout
        self._poison = poison
        self._lot = lot
        self._places = [
            place
            for place in layout.written()
            if place.tensor.elements * place.tensor.dtype.itemsize >= FEWEST_BYTES
        ]
        self._pieces = {place.argument.name: Pieces(place.tensor) for place in self._places}

    @property
    def shows_poison(self) -> bool:
        """Whether what `spoilt` draws is of an output."""
        return bool(self._places) and self._places[0].argument.role is Role.OUTPUT

    def of(self, *slots: int) -> list[Span]:
        """One in each written argument of each slot."""
        return [self._piece(p, slot, READ_BYTES) for slot in slots for p in self._places]

    def spoilt(self, slot: int) -> Span | None:
        """A piece of a slot's first written argument with the bytes that it has before any call:
        written there again, only another call of that slot can make them go away."""
        if not self._places:
            return None
        return self.first_output(slot, _SPOILT_BYTES if self.shows_poison else _CHANGED_BYTES)

    def first_output(self, slot: int, most: int) -> Span:
        """A piece of the first argument that a call writes, where there is one to be seen."""
        return self._piece(self._places[0], slot, most)

    def _piece(self, place: Place, slot: int, most: int) -> Span:
        offset, count = self._pieces[place.argument.name].draw(most, self._lot)
        start = self._layout.start(place, slot) + offset
        if place.argument.role is Role.OUTPUT:
            return Span(start, bytes([self._poison.byte]) * count, True)
        return Span(start, self.memory.read(start, count), False)


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
