"""Spoiler: makes sure that a call of a known slot is made, by spoiling what lies there."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from assay.device.failure import violation
from assay.device.runners.batch import Gate
from assay.device.runners.spans import Span
from assay.device.runners.spans import Spans
from assay.device.runners.turn import Turn
from assay.spec.status import ViolationKind

_CHANGE_SECONDS = 0.05
"""For an argument that is changed in place, of which a call may leave some as it was."""
_MOST_CHANGES = 8
"""Of arguments that are changed in place: each of their pieces is large, and read beforehand."""


class Spoiler:
    """Of one batch: see `turn` for which slots, and when. A call that is waited for longer than so
    many seconds was left out."""

    def __init__(self, spans: Spans, lot: random.Random, seconds: float) -> None:
        self._seconds = seconds
        self._spans = spans
        self._memory = spans.memory
        self._lot = lot
        self._spoilt: set[Span] = set()
        self.count = 0
        """Pieces that were spoilt."""

    def gates(self, turn: Turn) -> dict[int, Gate]:
        """By the index of a call, what is done before it is revealed."""
        calls = sorted(turn.seen_by)
        if not self._spans.shows_poison:
            calls = sorted(self._lot.sample(calls, min(_MOST_CHANGES, len(calls))))
        steps: dict[int, list[Callable[[], None]]] = {}
        for call in calls:
            piece = self._spans.spoilt(self._lot.choice(turn.slots_of(turn.timed[call])))
            if piece is None:
                break
            steps.setdefault(turn.seen_by[call], []).append(self._await(piece))
            steps.setdefault(call, []).append(self._spoil(piece))
        return {index: _all(todo) for index, todo in steps.items() if index < len(turn.timed)}

    def _spoil(self, piece: Span) -> Callable[[], None]:
        def spoil() -> None:
            piece.restore(self._memory)
            self._spoilt.add(piece)
            self.count += 1

        return spoil

    def _await(self, piece: Span) -> Callable[[], None]:
        def wait() -> None:
            deadline = time.monotonic() + (self._seconds if piece.output else _CHANGE_SECONDS)
            while piece.unchanged(self._memory):
                if time.monotonic() > deadline:
                    if piece.output:
                        raise left_out()
                    return
            self._spoilt.discard(piece)

        return wait

    def check(self) -> None:
        """When it has rung nothing is spoilt any more."""
        if any(piece.unchanged(self._memory) for piece in self._spoilt):
            raise left_out()


def left_out() -> Exception:
    return violation(ViolationKind.SKIPPED_CALL, "it left out a call of a known slot")


def _all(steps: list[Callable[[], None]]) -> Gate:
    if len(steps) == 1:
        return steps[0]

    def passed() -> None:
        for step in steps:
            step()

    return passed
