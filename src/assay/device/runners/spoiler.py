"""Spoiler: makes sure that a call of a known slot is made, by spoiling what lies there."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from assay.device.runners.batch import Gate
from assay.device.runners.spans import Span
from assay.device.runners.spans import Spans
from assay.device.runners.turn import Turn

_MARKER_SECONDS = 0.05


class Spoiler:
    """Of one batch: see `turn` for which slots, and when."""

    def __init__(self, spans: Spans, lot: random.Random) -> None:
        self._spans = spans
        self._memory = spans.memory
        self._lot = lot
        self._spoilt: list[Span] = []

    def gates(self, turn: Turn) -> dict[int, Gate]:
        """By the index of each slot's last call, what is done before it is revealed."""
        gates: dict[int, Gate] = {}
        for index, found in turn.retiring.items():
            piece = self._spans.spoilt(self._lot.choice(turn.slots_of(found.slot)))
            markers = self._spans.of(*turn.slots_of(found.marker)[-1:])
            if piece is not None and markers:
                gates[index] = self._gate(piece, markers)
        return gates

    def _gate(self, piece: Span, markers: Sequence[Span]) -> Gate:
        def spoil() -> None:
            deadline = time.monotonic() + _MARKER_SECONDS
            while all(span.unchanged(self._memory) for span in markers):
                if time.monotonic() > deadline:
                    return  # it cannot be seen here that the earlier call was done
            piece.restore(self._memory)
            self._spoilt.append(piece)

        return spoil

    @property
    def count(self) -> int:
        return len(self._spoilt)

    def unmended(self) -> bool:
        """When it has rung: whether something is still spoilt."""
        return any(piece.unchanged(self._memory) for piece in self._spoilt)
