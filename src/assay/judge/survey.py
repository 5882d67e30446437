"""A survey: every solution of a task, timed on every row. Figures for a map, not a verdict.

One process is alive at a time, so rows may be larger than a judgement has room for. Each solution
is timed in several processes; their order turns round from one generation to the next, so that a
drift of the device is shared evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from assay.device import open_judging_device
from assay.device.failure import ProcessFailure
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners.turn import slots_wanted
from assay.judge.authentic import Authentic
from assay.judge.build import build
from assay.judge.build import compiler
from assay.judge.build import flags_for
from assay.judge.case import Case
from assay.judge.deviation import deviation
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.oracle import Oracle
from assay.judge.pilot import Pilot
from assay.judge.pilot import fly
from assay.judge.sitting import Progress
from assay.judge.survey_record import Entrant
from assay.judge.survey_record import Pace
from assay.judge.survey_record import SurveyedRow
from assay.judge.survey_record import Timing
from assay.judge.twin import bytes_moved
from assay.judge.twin import twin_program
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.sample import Side
from assay.spec.workload import Row
from assay.stats.plan import launches_of
from assay.stats.plan import warm_launches

TWIN = "twin"
_SEED = 11
_ROWS_AT_ONCE = 16
"""Rows that processes are kept for: fewer are lost when a survey is stopped."""


class Survey:
    def __init__(
        self,
        case: Case,
        entrants: Sequence[Entrant],
        *,
        device: str | None = None,
        pace: Pace | None = None,
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self._case = case
        self._entrants = tuple(entrants)
        self._device_name = device or case.task.device
        self._pace = pace or Pace()
        self._report = report or (lambda _: None)
        self._programs: dict[str, Program] = {}
        self._done = 0
        self.device: dict[str, Any] = {}
        """What was seen of the device, when all is done."""

    def run(self) -> Iterator[SurveyedRow]:
        """The rows as they are done. What fails is said in its row, and the others go on."""
        with ExitStack() as stack:
            device = stack.enter_context(open_judging_device(self._device_name))
            stack.enter_context(device.referee_core())
            device.at_once = 2
            device.rows = {row.id: self._source(row, device) for row in self._case.rows}
            self._build(device)
            for first in range(0, len(self._case.rows), _ROWS_AT_ONCE):
                yield from self._some(device, self._case.rows[first : first + _ROWS_AT_ONCE])
                device.forget()
            self.device = device.report()
        self._report(Progress(len(self._case.rows), len(self._case.rows), "done"))

    def _build(self, device: RunnerDevice) -> None:
        task, target = self._case.task, device.target
        for entrant in self._entrants:
            flags = flags_for((entrant.contender,), target)
            try:
                made = build(task, entrant.contender, flags, target)
            except ProcessFailure as failure:
                raise UsageError(
                    f"{entrant.name} does not build: {failure}", where=task.name
                ) from None
            self._programs[entrant.name] = made.program
        if compiler(target):
            self._programs[TWIN] = twin_program(task, target)
            with device.start(self._programs[TWIN]) as idle:
                device.calibrate(idle, self._case.rows[0].id)

    def _some(self, device: RunnerDevice, rows: Sequence[Row]) -> list[SurveyedRow]:
        found = {row.id: self._empty(row) for row in rows}
        self._examine(device, rows, found)
        pilots: dict[tuple[str, str, Lane], Pilot] = {}
        for generation in range(self._pace.generations):
            names = list(self._programs)
            for name in names if generation % 2 == 0 else reversed(names):
                self._time(device, name, rows, found, pilots)
        self._done += len(rows)
        return list(found.values())

    def _empty(self, row: Row) -> SurveyedRow:
        read, written = bytes_moved(self._case.function_of(row), row)
        return SurveyedRow(row.id, read, written)

    def _examine(
        self, device: RunnerDevice, rows: Sequence[Row], found: dict[str, SurveyedRow]
    ) -> None:
        """Every solution's answer beside the truth. What its compilers made here serves the
        processes that are timed."""
        with Oracle(device, self._case) as oracle:
            for entrant in self._entrants:
                with self._running(device, entrant.name, rows, found) as process:
                    if process is None:
                        continue
                    for row in rows:
                        self._say(f"checking {entrant.name} on {row.id}")
                        self._check(device, oracle, process, entrant.name, found[row.id], row)
                    program = self._programs[entrant.name]
                    made = {**program.cache, **process.artefacts()}
                    self._programs[entrant.name] = replace(program, cache=made)
                    authentic = self._pinned(entrant, rows, found, process)
                if authentic is not None:
                    self._watch(device, authentic, entrant.name, rows, found)

    def _pinned(
        self,
        entrant: Entrant,
        rows: Sequence[Row],
        found: dict[str, SurveyedRow],
        process: RunnerProcess,
    ) -> Authentic | None:
        """Of a solution out of a wheel: whether what it loaded is the wheel's."""
        if entrant.contender.lock is None:
            return None
        other = replace(entrant.contender, lock=None)
        case = replace(self._case, rows=tuple(rows), baseline=entrant.contender, candidate=other)
        authentic = Authentic(case)
        try:
            authentic.look({Side.BASELINE: process})
        except UsageError as error:
            _fail(found, rows, entrant.name, str(error))
            return None
        return authentic

    def _watch(
        self,
        device: RunnerDevice,
        authentic: Authentic,
        name: str,
        rows: Sequence[Row],
        found: dict[str, SurveyedRow],
    ) -> None:
        """And whether it launches what its lock says."""
        try:
            authentic.watch(device, {Side.BASELINE.value: self._programs[name]})
        except UsageError as error:
            _fail(found, rows, name, str(error))
        for pinned in (row for finding in authentic.findings() for row in finding.rows):
            found[pinned.row].kernels[name] = list(pinned.kernels)

    def _check(
        self,
        device: RunnerDevice,
        oracle: Oracle,
        process: RunnerProcess,
        name: str,
        found: SurveyedRow,
        row: Row,
    ) -> None:
        source = self._source(row, device)
        contents = source.fresh()
        try:
            exam = process.examine(source, contents, calls=1)
        except ProcessFailure as failure:
            found.failures[name] = str(failure)
            return
        truth = oracle.truth(row, exam.inputs)
        worst = [deviation(truth[output], exam.first[output]) for output in truth]
        found.errors[name] = max(worst, key=lambda error: error.relative)
        if not found.errors[name].is_about_right:
            found.failures[name] = f"wrong: {found.errors[name].told}"

    def _time(
        self,
        device: RunnerDevice,
        name: str,
        rows: Sequence[Row],
        found: dict[str, SurveyedRow],
        pilots: dict[tuple[str, str, Lane], Pilot],
    ) -> None:
        """One process of one solution, over all rows that it can do."""
        lanes = next((e.lanes for e in self._entrants if e.name == name), (Lane.THROUGHPUT,))
        with self._running(device, name, rows, found) as process:
            if process is None:
                return
            for row in rows:
                if name in found[row.id].failures:
                    continue
                self._say(f"{name} on {row.id}")
                try:
                    for lane in lanes:
                        self._read(device, process, name, found[row.id], lane, pilots)
                except (ProcessFailure, UsageError) as failure:
                    found[row.id].failures[name] = str(failure)

    def _read(
        self,
        device: RunnerDevice,
        process: RunnerProcess,
        name: str,
        found: SurveyedRow,
        lane: Lane,
        pilots: dict[tuple[str, str, Lane], Pilot],
    ) -> None:
        traits, key = device.traits(lane), (name, found.row, lane)
        if key not in pilots:
            device.host_shares.pop((found.row, lane), None)
            pilots[key] = fly(process, found.row, lane, traits)
        pilot = pilots[key]
        device.host_shares[found.row, lane] = float(pilot.host_paced)
        warm = warm_launches(pilot.call_seconds, traits)
        launches = launches_of(pilot.call_seconds, traits, host_paced=pilot.host_paced)
        launches = _fitting(device, device.rows[found.row], lane, launches, warm)
        times = range(self._pace.readings)
        readings = [process.time(found.row, lane, launches, warm) for _ in times]
        timing = found.timings.setdefault((name, lane), Timing(launches, pilot.host_paced))
        timing.nanoseconds += [reading.nanoseconds for reading in readings]
        timing.disturbed += sum(bool(reading.disturbances) for reading in readings)

    def _running(
        self,
        device: RunnerDevice,
        name: str,
        rows: Sequence[Row],
        found: dict[str, SurveyedRow],
    ) -> _Started:
        return _Started(device, self._programs[name], lambda told: _fail(found, rows, name, told))

    def _source(self, row: Row, device: RunnerDevice) -> RowSource:
        function = self._case.function_of(row)
        generator = seeded(device.torch_device, _SEED)
        return RowSource(
            function, row, lambda: make_inputs(function, row, Distribution.NORMAL, generator)
        )

    def _say(self, label: str) -> None:
        self._report(Progress(self._done, len(self._case.rows), label))


class _Started:
    """A process for as long as a with statement lasts; None where it does not start."""

    def __init__(
        self, device: RunnerDevice, program: Program, failed: Callable[[str], None]
    ) -> None:
        self._device = device
        self._program = program
        self._failed = failed
        self._process: RunnerProcess | None = None

    def __enter__(self) -> RunnerProcess | None:
        try:
            self._process = self._device.start(self._program)
        except ProcessFailure as failure:
            self._failed(str(failure))
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.stop()


def _fitting(device: RunnerDevice, source: RowSource, lane: Lane, launches: int, warm: int) -> int:
    """As many calls as there is room for: a solution may be much faster than the others."""
    while launches > 1:
        try:
            device.slots_for(source, slots_wanted(launches, warm), lane)
        except UsageError:
            launches = launches * 3 // 4
        else:
            break
    return launches


def _fail(found: dict[str, SurveyedRow], rows: Sequence[Row], name: str, told: str) -> None:
    for row in rows:
        found[row.id].failures[name] = told
