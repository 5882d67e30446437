"""CpuProcess: one solution in one runner, examined and timed through shared memory."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from assay.device._base import Process
from assay.device._base import Reading
from assay.device.cpu.arena import Arena
from assay.device.cpu.arena import Poison
from assay.device.cpu.arena import Views
from assay.device.cpu.batch import run_batch
from assay.device.cpu.batch import wait_ready
from assay.device.cpu.bits import same_bits
from assay.device.cpu.content import Pools
from assay.device.cpu.content import RowSource
from assay.device.cpu.layout import RowLayout
from assay.device.cpu.layout import lay_out
from assay.device.cpu.layout import slots_for
from assay.device.cpu.program import CpuProgram
from assay.device.cpu.zygote import RunnerHandle
from assay.device.failure import violation
from assay.spec.lane import Lane
from assay.spec.sample import Disturbance
from assay.spec.status import ViolationKind
from assay.spec.task import Role
from assay.wire import doorbell

LOAD_SECONDS = 120.0
CALL_SECONDS = 60.0
_UNCALLED = 2
"""Slots of each window that no call is given: they must keep their poison."""
_MOST_WAITING = 0.01
"""A batch whose runner waited for its core longer than this share of it is disturbed."""
_KEPT_SHARE = 0.05
"""Of the batches: from these one call is kept whole, to be compared with the oracle."""

Tensors = dict[str, torch.Tensor | None]


@dataclass(frozen=True)
class Exam:
    """One call's inputs as they lay in memory, and the outputs of identical calls."""

    inputs: Tensors
    outputs: tuple[dict[str, torch.Tensor], ...]

    @property
    def first(self) -> dict[str, torch.Tensor]:
        return self.outputs[0]


@dataclass(frozen=True)
class KeptCall:
    """A timed call, chosen after it was made."""

    row: str
    inputs: Tensors
    outputs: dict[str, torch.Tensor]


@dataclass
class _Session:
    """One row as this runner knows it."""

    name: str
    layout: RowLayout
    views: Views
    pools: Pools | None = None
    prepare_ns: int = 0
    next_slot: int = 0

    def next_window(self, size: int) -> slice:
        """The slots of the next batch: windows go round and round through all of them."""
        if self.next_slot + size > self.layout.slots:
            self.next_slot = 0
        window = slice(self.next_slot, self.next_slot + size)
        self.next_slot += size
        return window


class CpuProcess(Process):
    def __init__(
        self,
        program: CpuProgram,
        rows: Mapping[str, RowSource],
        runner: RunnerHandle,
        bell: Arena,
        arena: Arena,
        cache_bytes: int,
        pools: dict[tuple[str, int], Pools],
    ) -> None:
        self._rows = rows
        self.runner = runner
        self._words = doorbell.words(bell.memory)
        self._arena = arena
        self._cache_bytes = cache_bytes
        self._shared_pools = pools
        self._sessions: dict[str, _Session] = {}
        self._current: str | None = None
        self._called = 0
        self._batches = 0
        self._secret = random.Random(secrets.randbits(64))
        self.kept: list[KeptCall] = []
        runner.ask(program.request(), LOAD_SECONDS)

    def examine(
        self, source: RowSource, contents: Mapping[str, torch.Tensor | None], calls: int = 2
    ) -> Exam:
        """Call the solution on the same contents, with everything around them poisoned."""
        session = self._session(f"exam-{source.row.id}", source, slots=calls)
        poison = Poison.fresh()
        inputs = self._fill(session, contents, poison)
        before = {name: None if t is None else t.clone() for name, t in inputs.items()}
        self._bind(session)
        slots = list(range(calls))
        self.runner.ask({"do": "call", "row": session.name, "slots": slots}, CALL_SECONDS)
        self._current = None
        for slot in slots:
            self._check_bounds(session, slot, poison)
            self._check_inputs(session, slot, before)
        return Exam(before, tuple(self._outputs(session, slot) for slot in slots))

    def time(self, row: str, lane: Lane, launches: int, warm_launches: int) -> Reading:
        source = self._rows[row]
        slots = slots_for(
            source.function,
            source.row,
            launches + warm_launches + _UNCALLED,
            self._cache_bytes,
            self._arena.size,
        )
        session = self._session(f"{row}-{launches}", source, slots)
        self._enter(session, source)
        poison = Poison.fresh()
        assert session.pools is not None
        window = session.next_window(launches + warm_launches + _UNCALLED)
        session.views.poison(poison, window)
        session.pools.refresh(session.views, window)
        order = list(range(window.start, window.stop))
        self._secret.shuffle(order)
        uncalled, warm, timed = (
            order[:_UNCALLED],
            order[_UNCALLED : _UNCALLED + warm_launches],
            order[_UNCALLED + warm_launches :],
        )
        nanoseconds, waited = self._batch(session, warm, timed, poison)
        self._inspect(session, uncalled, timed, poison)
        disturbed = waited > _MOST_WAITING * nanoseconds
        return Reading(nanoseconds, (Disturbance.FOREIGN_WORK,) if disturbed else ())

    def prepare_nanoseconds(self, row: str) -> int:
        """The longest that this row's prepare step took, by the referee's clock."""
        return max(
            (s.prepare_ns for s in self._sessions.values() if s.layout.row.id == row), default=0
        )

    def stop(self) -> None:
        self.runner.stop()

    # -- rows

    def _session(self, name: str, source: RowSource, slots: int) -> _Session:
        if name not in self._sessions:
            layout = lay_out(source.function, source.row, slots)
            self._sessions[name] = _Session(name, layout, Views(self._arena, layout))
            self.runner.ask(layout.request(name), CALL_SECONDS)
        return self._sessions[name]

    def _enter(self, session: _Session, source: RowSource) -> None:
        """Make a row the current one: its constants in place, its state built, its calls bound."""
        if self._current == session.name:
            return
        key = (session.layout.row.id, session.layout.slots)
        if key not in self._shared_pools:
            self._shared_pools[key] = Pools(source, session.layout)
        session.pools = self._shared_pools[key]
        contents = source.fresh()
        for place in session.layout.constants():
            content = contents[place.argument.name]
            assert content is not None
            session.views.tensor(place, 0).copy_(content)
        self._bind(session)
        self._current = session.name

    def _bind(self, session: _Session) -> None:
        begun = time.perf_counter_ns()
        self.runner.ask({"do": "prepare", "row": session.name}, CALL_SECONDS)
        session.prepare_ns = time.perf_counter_ns() - begun
        self.runner.ask({"do": "bind", "row": session.name}, CALL_SECONDS)

    def _fill(
        self, session: _Session, contents: Mapping[str, torch.Tensor | None], poison: Poison
    ) -> Tensors:
        """The given contents in every slot; returns the inputs as they then lie in the first."""
        session.views.poison(poison, slice(0, session.layout.slots))
        inputs: Tensors = {}
        for argument in session.layout.function.arguments:
            place = session.layout.places.get(argument.name)
            if argument.role is Role.OUTPUT:
                continue
            content = contents[argument.name]
            if place is None or content is None:
                inputs[argument.name] = None
                continue
            for slot in range(1 if argument.constant else session.layout.slots):
                _write(session.views.tensor(place, slot), content)
            inputs[argument.name] = session.views.tensor(place, 0)
        return inputs

    # -- the batch

    def _batch(
        self, session: _Session, warm: list[int], timed: list[int], poison: Poison
    ) -> tuple[int, int]:
        """Nanoseconds of the batch, and how many of them its runner stood in line for its core."""
        self._batches += 1
        self.runner.tell(
            {
                "do": "batch",
                "row": session.name,
                "warm_slots": warm,
                "count": len(timed),
                "batch": self._batches,
            }
        )
        wait_ready(self._words, self._batches, self.runner, CALL_SECONDS)
        first = self._called + 1
        self._called += len(timed)
        # From here on: waking up takes a while too, and is not part of the batch.
        waited = self.runner.waited_nanoseconds()

        def close() -> None:
            for slot in timed[-2:]:
                if session.views.looks_unwritten(slot, poison):
                    raise violation(
                        ViolationKind.EARLY_RING, "it rang before its last outputs were written"
                    )

        nanoseconds = run_batch(self._words, first, timed, self.runner, CALL_SECONDS, close)
        waited = self.runner.waited_nanoseconds() - waited
        self.runner.answer(CALL_SECONDS)
        return nanoseconds, waited

    def _inspect(
        self, session: _Session, uncalled: list[int], timed: list[int], poison: Poison
    ) -> None:
        """After each batch: slots that nobody called, guards of some that were, and by lot one
        whole call for the oracle."""
        for slot in uncalled:
            if not session.views.untouched(slot, poison):
                raise violation(
                    ViolationKind.SLOT_WRITTEN, "it wrote a slot that it had not been given"
                )
        for slot in self._secret.sample(timed, min(2, len(timed))):
            self._check_bounds(session, slot, poison)
            if session.views.looks_unwritten(slot, poison):
                raise violation(ViolationKind.EARLY_RING, "a call left its outputs unwritten")
        if self._secret.random() < _KEPT_SHARE:
            self._keep(session, self._secret.choice(timed))

    def _keep(self, session: _Session, slot: int) -> None:
        assert session.pools is not None
        inputs: Tensors = {}
        for argument in session.layout.function.arguments:
            place = session.layout.places.get(argument.name)
            if argument.role is Role.OUTPUT:
                continue
            if place is None:
                inputs[argument.name] = None
            elif argument.constant:
                inputs[argument.name] = session.views.tensor(place, 0).clone()
            else:
                if argument.role is Role.INPUT and not session.pools.unchanged(
                    session.views, slot, place
                ):
                    raise _input_written(argument.name)
                inputs[argument.name] = session.pools.written(place, slot).clone()
        self.kept.append(KeptCall(session.layout.row.id, inputs, self._outputs(session, slot)))

    # -- checks

    def _outputs(self, session: _Session, slot: int) -> dict[str, torch.Tensor]:
        return {
            place.argument.name: session.views.tensor(place, slot).clone()
            for place in session.layout.written()
        }

    def _check_bounds(self, session: _Session, slot: int, poison: Poison) -> None:
        name = session.views.broken_guard(slot, poison)
        if name is not None:
            raise violation(ViolationKind.SLOT_WRITTEN, f"it wrote beside argument {name}")

    def _check_inputs(self, session: _Session, slot: int, before: Tensors) -> None:
        for place in session.layout.places.values():
            if place.argument.role is not Role.INPUT:
                continue
            was = before[place.argument.name]
            now = session.views.tensor(place, slot)
            assert was is not None
            if not same_bits(now, was):
                raise _input_written(place.argument.name)


def _input_written(name: str) -> Exception:
    return violation(ViolationKind.INPUT_WRITTEN, f"it changed its input {name}")


def _write(target: torch.Tensor, content: torch.Tensor) -> None:
    """Copy content into a tensor that may have broadcast axes: of those the first index counts."""
    for axis, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[axis] > 1:
            target, content = target.narrow(axis, 0, 1), content.narrow(axis, 0, 1)
    target.copy_(content)
