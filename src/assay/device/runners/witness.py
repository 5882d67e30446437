"""Witness: narrow columns of what a batch writes, over all its slots at once.

    slot 0  …|c|…………|d|…
    slot 1  …|c|…………|d|…
    slot 2  …|c|…………|d|…

They are looked at four times: before the runner is told of the batch, when it says that it is
ready, when the clock stops, and after its answer. What changes before the clock starts was written
ahead of its call; what changes after it stopped was written behind it. Where the columns are is
drawn for every batch.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Bytes
from assay.device.runners.memory import Memory
from assay.device.runners.pieces import Pieces
from assay.device.runners.spans import FEWEST_BYTES
from assay.device.runners.turn import Turn
from assay.spec.task import Role

_COLUMNS = 3
"""In each written argument."""
_WIDTH = 64
_MOST_SLOTS = 256
"""Of more slots every second one, third one and so on: a look is short."""


@dataclass(frozen=True)
class _Column:
    start: int
    """In the first of the slots."""
    width: int
    shows_poison: bool
    """Whether every call must change it."""


class Witness:
    """Of one batch."""

    def __init__(self, memory: Memory, layout: RowLayout, turn: Turn, lot: random.Random) -> None:
        self._memory = memory
        window = turn.window
        step = math.ceil((window.stop - window.start) / _MOST_SLOTS)
        first = window.start + lot.randrange(step)
        self._slots = np.arange(first, window.stop, step)
        self._pitch = layout.slot_bytes * step
        self._columns: list[_Column] = []
        for place in layout.written():
            if not place.tensor.elements:
                continue
            pieces = Pieces(place.tensor)
            for _ in range(_COLUMNS):
                offset, width = pieces.draw(_WIDTH, lot)
                start = layout.start(place, first) + offset
                output = place.argument.role is Role.OUTPUT and width >= FEWEST_BYTES
                self._columns.append(_Column(start, width, output))
        self._called = np.isin(self._slots, turn.slots_of(*turn.timed))
        self._cold = np.isin(self._slots, turn.slots_of(*turn.warm), invert=True)
        self._before = self._look()
        self._rung: list[Bytes] = []

    def wrote_ahead(self) -> bool:
        """When the runner is ready: whether it has written a slot that it was not given yet."""
        return any(
            not np.array_equal(was[self._cold], now[self._cold])
            for was, now in zip(self._before, self._look(), strict=True)
        )

    def ring(self) -> None:
        """The clock has just stopped."""
        self._rung = self._look()

    def problem(self) -> str | None:
        """After the answer: work that came after the ring, or never."""
        for rung, now in zip(self._rung, self._look(), strict=True):
            if not np.array_equal(rung[self._called], now[self._called]):
                return "outputs changed after it had rung"
        for column, was, rung in zip(self._columns, self._before, self._rung, strict=True):
            same = (was[self._called] == rung[self._called]).all(axis=1)
            if column.shows_poison and bool(same.any()):
                return "a call left its outputs unwritten"
        return None

    def _look(self) -> list[Bytes]:
        count = len(self._slots)
        return [
            self._memory.column(column.start, column.width, self._pitch, count)
            for column in self._columns
        ]
