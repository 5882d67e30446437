"""Spoiler: makes sure that a call of a known slot is made, by spoiling what lies there."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from assay.device.failure import violation
from assay.device.runners.batch import Gate
from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Memory
from assay.device.runners.spans import Span
from assay.device.runners.spans import spans_of
from assay.device.runners.spans import spoilt_piece
from assay.device.runners.turn import Turn
from assay.spec.status import ViolationKind

_MARKER_SECONDS = 0.05


class Spoiler:
    """Of one batch: see `turn` for which slots, and when."""

    def __init__(self, memory: Memory, lot: random.Random) -> None:
        self._memory = memory
        self._lot = lot
        self._spoilt: list[Span] = []

    def gates(self, layout: RowLayout, turn: Turn) -> dict[int, Gate]:
        """By the index of each slot's last call, what is done before it is revealed."""
        gates: dict[int, Gate] = {}
        for index, found in turn.retiring.items():
            spoilt = self._lot.choice(turn.slots_of(found.slot))
            piece = spoilt_piece(self._memory, layout, spoilt, self._lot)
            markers = spans_of(self._memory, layout, turn.slots_of(found.marker)[-1:], self._lot)
            if piece is not None and markers:
                gates[index] = self._gate(piece, markers)
        return gates

    def _gate(self, piece: Span, markers: Sequence[Span]) -> Gate:
        def spoil() -> None:
            deadline = time.monotonic() + _MARKER_SECONDS
            while all(span.unchanged(self._memory) for span in markers):
                if time.monotonic() > deadline:
                    return  # it cannot be seen here that the earlier call was done
            self._memory.write(piece.start, piece.before)
            self._spoilt.append(piece)

        return spoil

    @property
    def count(self) -> int:
        return len(self._spoilt)

    def check(self) -> None:
        """After the batch: whatever was spoilt must have been mended."""
        if any(piece.unchanged(self._memory) for piece in self._spoilt):
            raise violation(ViolationKind.SKIPPED_CALL, "it left out a call of a known slot")
