"""Vigil: what the referee does around one batch to see for itself that the calls were made.

It changes inputs in the moment of a call (touches), spoils outputs in the middle (spoiler), looks
at all slots when the runner is ready and when the clock stops (witness), reads the last outputs at
the ring (spans), and after the answer goes through the window's slots.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from assay.device.failure import violation
from assay.device.runners.batch import Gate
from assay.device.runners.memory import Memory
from assay.device.runners.prompt import prompt_gates
from assay.device.runners.session import Session
from assay.device.runners.spans import Span
from assay.device.runners.spans import Spans
from assay.device.runners.spans import late
from assay.device.runners.spoiler import Spoiler
from assay.device.runners.touches import Touches
from assay.device.runners.turn import Turn
from assay.device.runners.views import Poison
from assay.device.runners.witness import Witness
from assay.spec.defences import Defences
from assay.spec.status import ViolationKind

_SECONDS = 0.05
_QUEUED_SECONDS = 2.0
"""How long a call that is under way is waited for."""


@dataclass(frozen=True)
class Watched:
    """How a batch is watched over."""

    poison: Poison
    defences: Defences
    most_touches: int
    queues_calls: bool
    """Whether a call returns before its work is done."""


class Vigil:
    """Made when the slots hold what they should and the runner does not know of the batch yet."""

    def __init__(
        self, memory: Memory, session: Session, turn: Turn, lot: random.Random, watched: Watched
    ) -> None:
        assert session.pools is not None
        self.spans = Spans(memory, session.layout, watched.poison, lot)
        self.turn = turn
        self.defences = watched.defences
        self._session = session
        self._poison = watched.poison
        self._lot = lot
        most = watched.most_touches if self.defences.content else 0
        self.touches = Touches(memory, session.layout, session.pools, turn, lot, most)
        looks = self.defences.uncalled_slots or self.defences.rings
        self._witness = Witness(memory, session.layout, turn, lot) if looks else None

    def ready(self) -> None:
        """The warm calls are done, and no other has been revealed."""
        if self._witness is None or not self.defences.uncalled_slots:
            return
        if self._witness.wrote_ahead():
            raise violation(
                ViolationKind.SLOT_WRITTEN, "it wrote a slot before it was given the call"
            )

    def rung(self) -> None:
        """The clock has just stopped."""
        if self._witness is not None:
            self._witness.ring()

    def answered(self) -> None:
        """The runner is asleep again."""
        session, turn, defences = self._session, self.turn, self.defences
        if self._witness is not None and defences.rings:
            problem = self._witness.problem()
            if problem is not None:
                raise violation(ViolationKind.EARLY_RING, problem)
        for slot in turn.slots_of(*turn.uncalled):
            if defences.uncalled_slots and not session.views.untouched(slot, self._poison):
                raise violation(
                    ViolationKind.SLOT_WRITTEN, "it wrote a slot that it had not been given"
                )
        once = turn.called_once
        for slot in self._lot.sample(once, min(2, len(once))):
            if defences.guard_bands:
                session.check_bounds(slot, self._poison)
            if defences.rings and session.views.wholly_poisoned(slot, self._poison):
                raise violation(ViolationKind.EARLY_RING, "a call left its outputs unwritten")

    @property
    def answers(self) -> Sequence[int]:
        """Slots whose outputs answer to what is now in them, so that a call can be kept."""
        return self.touches.slots or self.turn.called_once

    def judge_ring(self, spans: Sequence[Span], seen: Sequence[bytes]) -> None:
        problem = late(self.spans.memory, spans, seen)
        if problem is not None and self.defences.rings:
            raise violation(ViolationKind.EARLY_RING, problem)


class StreamVigil(Vigil):
    """Over calls that follow each other without a pause."""

    def __init__(
        self, memory: Memory, session: Session, turn: Turn, lot: random.Random, watched: Watched
    ) -> None:
        super().__init__(memory, session, turn, lot, watched)
        self._last = self.spans.of(*turn.last_slots)
        self._seen: list[bytes] = []
        seconds = _QUEUED_SECONDS if watched.queues_calls else _SECONDS
        self.spoiler = Spoiler(self.spans, lot, seconds)
        self.gates: dict[int, Gate] = dict(self.touches.gates)
        spoilt = self.spoiler.gates(turn) if self.defences.skipped_calls else {}
        for index, spoil in spoilt.items():
            self.gates[index] = _both(spoil, self.gates.get(index))
        if self.defences.rings and not watched.queues_calls:
            for index, see in prompt_gates(self.spans, turn, lot).items():
                self.gates[index] = _both(see, self.gates.get(index))

    def close(self) -> None:
        """At the ring, on the clock: reading more than this would be part of the batch."""
        self._seen = [span.read(self.spans.memory) for span in self._last[:1]]

    def rung(self) -> None:
        super().rung()
        seen = self._seen + [span.read(self.spans.memory) for span in self._last[1:]]
        if self.defences.skipped_calls:
            self.spoiler.check()
        self.judge_ring(self._last, seen)


class SingleVigil(Vigil):
    """Over calls that are waited for one by one, with time to look at each of them."""

    def __init__(
        self, memory: Memory, session: Session, turn: Turn, lot: random.Random, watched: Watched
    ) -> None:
        super().__init__(memory, session, turn, lot, watched)
        self._called = set(turn.warm)
        self._due: list[Span] = []

    def prepare(self, index: int) -> None:
        """Before a call: a piece of its outputs holds what it held before any call."""
        unit = self.turn.timed[index]
        self._due = self.spans.of(self.turn.slots_of(unit)[-1])
        if unit in self._called:
            self._due = [span for span in self._due if span.output]
            for span in self._due:
                span.restore(self.spans.memory)
        self._called.add(unit)
        touch = self.touches.gates.get(index)
        if touch is not None:
            touch()

    def check(self, index: int) -> None:
        """Its ring has just been heard."""
        self.judge_ring(self._due, [span.read(self.spans.memory) for span in self._due])


def _both(first: Gate, second: Gate | None) -> Gate:
    if second is None:
        return first

    def passed() -> None:
        first()
        second()

    return passed
