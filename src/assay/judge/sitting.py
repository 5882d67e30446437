"""A sitting: the rows of a task, measured on one device in turns, until each row is settled.

Each generation starts three processes (baseline, its echo, candidate) and runs every unsettled row
in them. Blocks of both kinds are shuffled and each is ABBA or BAAB by the toss of a coin, from the
operating system's randomness: an order that nobody can foresee cannot be played to.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from typing import Generic
from typing import TypeVar

from assay.device import Device
from assay.device import Process
from assay.device import Reading
from assay.device.failure import ProcessFailure
from assay.judge.pilot import fly
from assay.judge.stopwatch import Stopwatch
from assay.spec.lane import Lane
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.sample import Disturbance
from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side
from assay.spec.verdict import RowVerdict
from assay.stats.blocks import is_disturbed
from assay.stats.plan import Plan
from assay.stats.plan import plan_row
from assay.stats.row_rule import Finding
from assay.stats.row_rule import look_at

P = TypeVar("P")

_TWIN_READINGS = 2


@dataclass(frozen=True)
class Progress:
    """How far a sitting is; handed to whoever draws the bar."""

    done: int
    total: int
    label: str


@dataclass
class RowRecord:
    """One row in one lane: its plan, its samples in order, and what was found."""

    row: str
    lane: Lane
    plan: Plan
    samples: list[Sample] = field(default_factory=list)
    finding: Finding | None = None
    twin_nanoseconds: list[int] = field(default_factory=list)
    paces: list[tuple[float, ...]] = field(default_factory=list)
    """Of the host around each sample, where the device looks at it."""

    @property
    def twin_us(self) -> float | None:
        if not self.twin_nanoseconds:
            return None
        return statistics.median(self.twin_nanoseconds) / self.plan.launches / 1000

    @property
    def settled(self) -> bool:
        return self.finding is not None and self.finding.settled

    def verdict(self) -> RowVerdict:
        assert self.finding is not None
        measured = self.finding.measurement
        return RowVerdict(
            row=self.row,
            lane=self.lane,
            status=self.finding.status,
            ratio=measured.ratio if measured else None,
            interval=measured.interval if measured else None,
            baseline_us=measured.baseline_us if measured else None,
            candidate_us=measured.candidate_us if measured else None,
            twin_us=self.twin_us,
            measurement=measured,
            reason=self.finding.reason,
        )


class SideFailed(Exception):  # noqa: N818 - a result, raised
    """One side's process failed while it was timed."""

    def __init__(self, side: Side, row: str, lane: Lane, failure: ProcessFailure) -> None:
        super().__init__(f"{side} failed on row {row}: {failure}")
        self.side = side
        self.row = row
        self.lane = lane
        self.failure = failure


@dataclass(frozen=True)
class Block:
    """Which sides are set against each other in one block."""

    pair: Pair
    sides: tuple[Side, Side]


AfterRow = Callable[["RowRecord", Mapping[Side, Process]], None]


class Sitting(Generic[P]):
    """Baseline against candidate on one device."""

    def __init__(
        self,
        device: Device[P],
        baseline: P,
        candidate: P,
        rules: Rules,
        *,
        twin: P | None = None,
        order: random.Random | None = None,
        progress: Callable[[Progress], None] | None = None,
        after_row: AfterRow | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        self._device = device
        self._programs = {
            Side.BASELINE: baseline,
            Side.ECHO: baseline,
            Side.CANDIDATE: candidate,
        }
        if twin is not None:
            self._programs[Side.TWIN] = twin
        self._rules = rules
        self._order = order or random.SystemRandom()
        self._progress = progress or (lambda _: None)
        self._after_row = after_row or (lambda record, processes: None)
        self._watch = watch or Stopwatch()

    def run(self, rows: Sequence[str], lanes: Sequence[Lane], budget: Budget) -> list[RowRecord]:
        """Measure all rows in all lanes; records come back in that order, each with a finding."""
        records = self._plan(rows, lanes, budget)
        last = max(record.plan.generations for record in records)
        for generation in range(last):
            if all(record.settled for record in records):
                break
            with self._processes(records[0]) as processes:
                for index, record in enumerate(records):
                    if not record.settled:
                        label = f"{record.row} {record.lane}"
                        self._progress(
                            Progress(generation * len(records) + index, last * len(records), label)
                        )
                        self._measure(record, generation, processes)
                        self._after_row(record, processes)
                        self._look(record, generation + 1)
        self._progress(Progress(last * len(records), last * len(records), "done"))
        return records

    def _plan(self, rows: Sequence[str], lanes: Sequence[Lane], budget: Budget) -> list[RowRecord]:
        seconds = budget.per_row(len(rows), len(lanes))
        with (
            self._watch.on("plan"),
            self._device.start(self._programs[Side.BASELINE]) as baseline,
        ):
            return [
                RowRecord(row, lane, self._plan_one(row, lane, seconds, baseline))
                for row in rows
                for lane in lanes
            ]

    def _plan_one(self, row: str, lane: Lane, seconds: float, baseline: Process) -> Plan:
        """A pilot of the baseline alone finds how long a call takes, so that nothing a candidate
        does can change how it is measured."""
        traits = self._device.traits(lane)
        found = fly(baseline, row, lane, traits)
        return plan_row(
            seconds, found.call_seconds, traits, self._rules, host_paced=found.host_paced
        )

    @contextmanager
    def _processes(self, first: RowRecord) -> Iterator[Mapping[Side, Process]]:
        """Three processes that live and die together."""
        with ExitStack() as stack:
            with self._watch.on("start"):
                begun = {side: self._device.begin(p) for side, p in self._programs.items()}
                processes: dict[Side, Process] = {}
                failures: list[SideFailed] = []
                for side, wait in begun.items():
                    try:
                        processes[side] = stack.enter_context(wait())
                    except ProcessFailure as failure:
                        failures.append(SideFailed(side, first.row, first.lane, failure))
            if failures:
                raise failures[0]
            try:
                yield processes
            finally:
                for process in processes.values():
                    process.dismiss()

    def _measure(
        self, record: RowRecord, generation: int, processes: Mapping[Side, Process]
    ) -> None:
        blocks = self._blocks(record.plan, generation)
        spare = int(self._rules.spare_readings * 4 * len(blocks))
        for number, block in enumerate(blocks):
            samples = self._block(record, generation, number, block, processes, spare)
            record.samples += samples
            spare -= len(samples) - 4

        if Side.TWIN in processes:
            for _ in range(_TWIN_READINGS):
                reading = self._reading(record, processes, Side.TWIN)
                record.twin_nanoseconds.append(reading.nanoseconds)

    def _block(
        self,
        record: RowRecord,
        generation: int,
        number: int,
        block: Block,
        processes: Mapping[Side, Process],
        spare: int,
    ) -> list[Sample]:
        """One block, ABBA or BAAB by the toss of a coin. Disturbed readings are taken again."""
        first, second = block.sides
        if self._order.random() < 0.5:
            first, second = second, first
        samples: list[Sample] = []
        for position, side in enumerate((first, second, second, first)):
            tries = 1 + min(self._rules.retakes, spare - (len(samples) - position))
            for _ in range(tries):
                reading = self._reading(record, processes, side)
                record.paces.append(reading.paces)
                sample = Sample(
                    generation=generation,
                    block=number,
                    position=position,
                    pair=block.pair,
                    side=side,
                    launches=record.plan.launches,
                    nanoseconds=reading.nanoseconds,
                    disturbances=self._disturbances(reading, record.plan),
                    clock_mhz=reading.clock_mhz,
                )
                samples.append(sample)
                if not is_disturbed(sample):
                    break
        return samples

    def _disturbances(self, reading: Reading, plan: Plan) -> tuple[Disturbance, ...]:
        found = list(reading.disturbances)
        slow = plan.host_paced and any(pace > 1 + self._rules.slow_host for pace in reading.paces)
        if slow and Disturbance.FOREIGN_WORK not in found:
            found.append(Disturbance.FOREIGN_WORK)
        return tuple(found)

    def _reading(self, record: RowRecord, processes: Mapping[Side, Process], side: Side) -> Reading:
        plan = record.plan
        try:
            return processes[side].time(record.row, record.lane, plan.launches, plan.warm_launches)
        except ProcessFailure as failure:
            raise SideFailed(side, record.row, record.lane, failure) from failure

    def _blocks(self, plan: Plan, generation: int) -> list[Block]:
        """The blocks of one generation. AB blocks take turns between the two baseline processes:
        the candidate is compared with their average, which halves what one of them is off by."""
        blocks: list[Block] = []
        for number in range(plan.ab_blocks):
            baseline = (Side.BASELINE, Side.ECHO)[(number + generation) % 2]
            blocks.append(Block(Pair.AB, (baseline, Side.CANDIDATE)))
        blocks += [Block(Pair.AA, (Side.BASELINE, Side.ECHO))] * plan.aa_blocks
        self._order.shuffle(blocks)
        return blocks

    def _look(self, record: RowRecord, generations: int) -> None:
        plan = record.plan
        if generations in plan.looks:
            look = plan.looks.index(generations)
            record.finding = look_at(record.samples, self._rules, plan, look)
