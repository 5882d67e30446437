"""RunnerProcess: one solution in one runner, examined and timed through memory it is lent."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from assay.device._base import Process
from assay.device._base import Reading
from assay.device.runners.batch import run_batch
from assay.device.runners.batch import run_singles
from assay.device.runners.batch import wait_ready
from assay.device.runners.content import RowSource
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import lay_out
from assay.device.runners.memory import Memory
from assay.device.runners.program import Artefact
from assay.device.runners.program import Program
from assay.device.runners.session import Exam
from assay.device.runners.session import KeptCall
from assay.device.runners.session import Session
from assay.device.runners.spans import READ_BYTES
from assay.device.runners.turn import Turn
from assay.device.runners.turn import deal
from assay.device.runners.turn import shifts_wanted
from assay.device.runners.turn import slots_wanted
from assay.device.runners.views import Poison
from assay.device.runners.views import Views
from assay.device.runners.vigil import SingleVigil
from assay.device.runners.vigil import StreamVigil
from assay.device.runners.vigil import Vigil
from assay.device.runners.vigil import Watched
from assay.device.runners.zygote import RunnerHandle
from assay.spec.lane import Lane
from assay.wire import doorbell

if TYPE_CHECKING:
    from assay.device.runners.device import RunnerDevice

LOAD_SECONDS = 120.0
CALL_SECONDS = 60.0
JIT_SECONDS = 600.0
"""For untimed calls of a pinned package, which may compile what it calls."""
_KEPT_SHARE = 0.05
"""Of the batches: from these one call is kept whole, to be compared with the oracle."""
_SHARE_LAUNCHES, _SHARE_WARM = 48, 8
_MOST_BOUND = 2048
"""Calls that a runner binds of one row, each to a slot at a shift."""


class RunnerProcess(Process):
    def __init__(
        self,
        device: RunnerDevice,
        program: Program,
        runner: RunnerHandle,
        bell: HostMemory,
        memory: Memory,
    ) -> None:
        self.device = device
        self.runner = runner
        self.memory = memory
        self.words = doorbell.words(bell.map)
        self._sessions: dict[str, Session] = {}
        self._current: str | None = None
        self._called = 0
        self._batches = 0
        self._lot = random.Random(secrets.randbits(64))
        self.kept: list[KeptCall] = []
        self._reserve: KeptCall | None = None
        self._reserved_from = 0
        self.vigil: StreamVigil | SingleVigil | None = None
        """Over the batch that was timed last."""
        self.claims: list[tuple[int, Mapping[str, object]]] = []
        """In lanes that only explain: the referee's nanoseconds, and what the runner said."""
        self._exam_seconds = CALL_SECONDS if program.lock is None else JIT_SECONDS
        runner.ask(program.request(interpret=device.target.interprets_triton), LOAD_SECONDS)

    def examine(
        self, source: RowSource, contents: Mapping[str, torch.Tensor | None], calls: int = 2
    ) -> Exam:
        """Call the solution on the same contents, with everything around them poisoned."""
        session = self._session(f"exam-{source.row.id}", source, slots=calls)
        poison = Poison.fresh()
        inputs = session.fill(contents, poison)
        before = {name: None if t is None else t.clone() for name, t in inputs.items()}
        self._bind(session)
        slots = list(range(calls))
        self.device.hand_over()
        self.runner.ask({"do": "call", "row": session.name, "slots": slots}, self._exam_seconds)
        self._current = None
        for slot in slots:
            if self.device.defences.guard_bands:
                session.check_bounds(slot, poison)
            if self.device.defences.inputs:
                session.check_inputs(slot, before)
        return Exam(before, tuple(session.outputs(slot) for slot in slots))

    def time(self, row: str, lane: Lane, launches: int, warm_launches: int) -> Reading:
        poison = Poison.fresh()
        session, turn = self._dealt(row, lane, launches, warm_launches, poison)
        self.vigil = vigil = self._vigil(session, turn, lane, poison)
        self.device.hand_over()
        paced = self.device.host_paces(row, lane)
        before = self.device.settle(self.runner) if paced else ()
        reading = self._timed(session, vigil, lane)
        paces = (*before, *self.device.pace()) if paced else ()
        vigil.answered()
        self._keep_some(session, vigil)
        # A turn in units of several calls may have a few more than were asked for.
        taken = reading.nanoseconds * launches // (len(turn.timed) * turn.size)
        return replace(reading, nanoseconds=max(taken, 1), paces=paces)

    def host_share(self, row: str, lane: Lane) -> float:
        if lane is Lane.LATENCY or not self.device.queues_calls:
            return 1.0
        session, turn = self._dealt(row, lane, _SHARE_LAUNCHES, _SHARE_WARM, Poison.fresh())
        self.device.hand_over()
        first, order = self._announce(session, turn, _MODES[lane])
        issued: list[int] = []
        begun = time.perf_counter_ns()
        taken = run_batch(
            self.words,
            first,
            order,
            self.runner,
            CALL_SECONDS,
            close=lambda: None,
            gates={len(turn.timed) - 1: lambda: issued.append(time.perf_counter_ns())},
        )
        self.runner.answer(CALL_SECONDS)
        share = min(1.0, (issued[0] - begun) / max(taken, 1))
        self.device.host_shares[row, lane] = share
        return share

    def time_nothing(self, row: str, lane: Lane, launches: int) -> int:
        """The nanoseconds of so many calls that do nothing: what the turn itself costs."""
        source = self.device.rows[row]
        session = self._session(f"{row}-nothing", source, slots=4)
        self._enter(session, source)
        self.device.hand_over()
        turn = Turn(slice(0, 4), (), (0,) * 8, tuple(i % 4 for i in range(launches)))
        first, order = self._announce(session, turn, _MODES[lane], nothing=True)
        if lane is Lane.LATENCY:
            taken = run_singles(self.words, first, order, self.runner, CALL_SECONDS)
        else:
            place = session.layout.written()[0]
            start = session.layout.start(place, 0)

            def close() -> None:
                self.memory.read(start, min(place.storage_bytes, READ_BYTES))

            taken = run_batch(self.words, first, order, self.runner, CALL_SECONDS, close)
        self.runner.answer(CALL_SECONDS)
        return taken

    def prepare_nanoseconds(self, row: str) -> int:
        """The longest that this row's prepare step took, by the referee's clock."""
        return max(
            (s.prepare_ns for s in self._sessions.values() if s.layout.row.id == row), default=0
        )

    def artefacts(self) -> dict[str, Artefact]:
        """What the solution's own compiler left in its cache: opaque to the referee."""
        reply = self.runner.ask({"do": "artefacts"}, CALL_SECONDS)
        files, times = reply.get("files"), reply.get("times")
        if not isinstance(files, dict) or not isinstance(times, dict):
            return {}
        try:
            return {
                str(path): Artefact(bytes.fromhex(str(content)), _time(times.get(path)))
                for path, content in files.items()
            }
        except ValueError:
            return {}

    def dismiss(self) -> None:
        self.runner.kill()

    def stop(self) -> None:
        self.runner.stop()

    # -- rows

    def _session(self, name: str, source: RowSource, slots: int, shifts: int = 1) -> Session:
        if name not in self._sessions:
            layout = lay_out(source.function, source.row, slots, shifts)
            self._sessions[name] = Session(name, layout, Views(self.memory, layout))
            self.runner.ask(layout.request(name), CALL_SECONDS)
        return self._sessions[name]

    def _enter(self, session: Session, source: RowSource) -> None:
        """Make a row the current one: its constants in place, its state built, its calls bound."""
        if self._current == session.name:
            return
        session.pools = self.device.pools_for(source, session.layout)
        if session.layout.constants():
            session.set_constants(source.fresh())
        self._bind(session)
        self._current = session.name

    def _bind(self, session: Session) -> None:
        self.device.hand_over()
        begun = time.perf_counter_ns()
        self.runner.ask({"do": "prepare", "row": session.name}, CALL_SECONDS)
        session.prepare_ns = time.perf_counter_ns() - begun
        self.runner.ask({"do": "bind", "row": session.name}, CALL_SECONDS)

    # -- the batch

    def _dealt(
        self, row: str, lane: Lane, launches: int, warm: int, poison: Poison
    ) -> tuple[Session, Turn]:
        """A turn over a window of the row's slots, with new content and poison in them."""
        source = self.device.rows[row]
        wanted = slots_wanted(launches, warm)
        slots = self.device.slots_for(source, wanted, lane)
        size = self.device.calls_a_launch(lane, slots)
        # A graph is captured of each unit: not of each unit at each shift.
        anew = self.device.defences.content
        several = anew and lane is not Lane.GRAPH and not self.device.host_paces(row, lane)
        shifts = self._shifts(source, slots, launches, warm) if several else 1
        session = self._session(f"{row}-{slots}-{shifts}", source, slots, shifts)
        self._enter(session, source)
        turn = deal(session.next_window(wanted), launches, warm, self._lot, size, shifts)
        session.renew(poison, turn.window, anew=anew)
        return session, turn

    def _shifts(self, source: RowSource, slots: int, launches: int, warm: int) -> int:
        """As many as make all content of a batch new, where they can be bound and there is room."""
        wanted = min(shifts_wanted(launches, warm, slots), _MOST_BOUND // slots)
        if wanted <= 1:
            return 1
        layout = lay_out(source.function, source.row, slots, wanted)
        return wanted if layout.bytes <= self.memory.size else 1

    def _announce(
        self, session: Session, turn: Turn, mode: str, nothing: bool = False
    ) -> tuple[int, list[int]]:
        """Have the runner do its warm calls; returns the number of the first timed one, and which
        of its bound calls each of them is."""
        self._batches += 1
        warm, timed = turn.numbers(session.layout.slots)
        self.runner.tell(
            {
                "do": "batch",
                "mode": mode,
                "row": session.name,
                "warm": warm,
                "count": len(timed),
                "batch": self._batches,
                "group": turn.size,
                "nothing": nothing,
            }
        )
        wait_ready(self.words, self._batches, self.runner, CALL_SECONDS)
        first = self._called + 1
        self._called += len(timed)
        return first, timed

    def _vigil(
        self, session: Session, turn: Turn, lane: Lane, poison: Poison
    ) -> StreamVigil | SingleVigil:
        kind = SingleVigil if lane is Lane.LATENCY else StreamVigil
        watched = Watched(
            poison, self.device.defences, self.device.most_touches(lane), self.device.queues_calls
        )
        return kind(self.memory, session, turn, self._lot, watched)

    def _timed(self, session: Session, vigil: StreamVigil | SingleVigil, lane: Lane) -> Reading:
        watch = self.device.watch(self)
        first, order = self._announce(session, vigil.turn, _MODES[lane])
        vigil.ready()
        watch.begin()
        if isinstance(vigil, SingleVigil):
            taken = run_singles(
                self.words, first, order, self.runner, CALL_SECONDS, vigil.prepare, vigil.check
            )
        else:
            taken = run_batch(
                self.words, first, order, self.runner, CALL_SECONDS, vigil.close, vigil.gates
            )
        vigil.rung()
        disturbances, clock = watch.end(taken)
        told = self.runner.answer(CALL_SECONDS)
        if not lane.decides:
            self.claims.append((taken, told))
            taken = _claimed(told)
        elif lane is not Lane.LATENCY:
            taken = max(taken - self.device.empty_ns.get(Lane.THROUGHPUT, 0), 1)
        return Reading(taken, disturbances, clock)

    def _keep_some(self, session: Session, vigil: Vigil) -> None:
        """By lot one whole call for the oracle."""
        if not vigil.answers:
            return
        slot = self._lot.choice(vigil.answers)
        shift = vigil.turn.last_shift[slot // vigil.turn.size]
        check = self.device.defences.inputs
        self._reserved_from += 1
        if self._lot.random() < _KEPT_SHARE:
            self.kept.append(session.kept(slot, shift, check_inputs=check))
        elif self._lot.randrange(self._reserved_from) == 0:
            self._reserve = session.kept(slot, shift, check_inputs=check)

    def take_kept(self, *, at_least_one: bool = True) -> list[KeptCall]:
        """The calls that were kept since the last time; where the lot fell on none of a few
        batches, if asked, one that was put by, as likely from any of them."""
        taken = self.kept
        if at_least_one and not taken and self._reserve is not None:
            taken = [self._reserve]
        self.kept, self._reserve, self._reserved_from = [], None, 0
        return taken


_MODES = {
    Lane.THROUGHPUT: "stream",
    Lane.LATENCY: "single",
    Lane.GRAPH: "graph",
    Lane.EVENTS: "events",
    Lane.DEVICE: "device",
}


def _time(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**62 else 0


def _claimed(reply: Mapping[str, object]) -> int:
    """What a runner says of itself, in lanes that explain and never decide."""
    value = reply.get("nanoseconds")
    return max(int(value), 1) if isinstance(value, int | float) and 0 < value < 2**62 else 1
