"""The referee: puts a case through build, exam and sitting, and writes down what it saw.

It owns the clock, the inputs, the statistics and the ledger, and never imports solution code.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextlib import contextmanager
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any

from assay.device import Process
from assay.device import open_judging_device
from assay.device.failure import ProcessFailure
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners import Target
from assay.judge.ablation import Bench
from assay.judge.ablation import ablate
from assay.judge.accounts import conviction
from assay.judge.accounts import take_accounts
from assay.judge.afterwards import with_ablation
from assay.judge.afterwards import with_account
from assay.judge.authentic import Authentic
from assay.judge.blame import culprit
from assay.judge.build import Build
from assay.judge.build import build
from assay.judge.build import check_flags
from assay.judge.build import compiler
from assay.judge.build import flags_for
from assay.judge.case import Case
from assay.judge.exam import Examiner
from assay.judge.exam import Question
from assay.judge.exam import failed
from assay.judge.exam import questions
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.isolation import isolation_labels
from assay.judge.lookout import Lookout
from assay.judge.oracle import Oracle
from assay.judge.physics import first_impossible
from assay.judge.sitting import Progress
from assay.judge.sitting import RowRecord
from assay.judge.sitting import SideFailed
from assay.judge.sitting import Sitting
from assay.judge.stopwatch import Stopwatch
from assay.judge.twin import twin_program
from assay.spec.contract import Convention
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.sample import Pair
from assay.spec.sample import Side
from assay.spec.solution import Language
from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict
from assay.spec.workload import Row
from assay.stats.blocks import block_table
from assay.stats.lanes import reconcile
from assay.stats.task_rule import judge_task

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Judgement:
    """A verdict with all that it rests on."""

    verdict: TaskVerdict
    records: tuple[RowRecord, ...] = ()
    builds: Mapping[str, Build] = field(default_factory=dict)
    prepare_us: Mapping[str, float] = field(default_factory=dict)
    """The longest prepare step of the candidate by row; never part of a ratio."""
    checked_calls: int = 0
    """Timed calls whose outputs were compared whole with the oracle."""
    device: Mapping[str, Any] = field(default_factory=dict)
    """What was seen of the device in the sitting."""
    sandbox: Mapping[str, bool] = field(default_factory=dict)
    """Which parts of the sandbox held the runners; empty where none was started."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Where the time went, by phase."""


class Referee:
    def __init__(
        self,
        case: Case,
        *,
        rules: Rules = DEFAULT_RULES,
        budget: Budget = DEFAULT_BUDGET,
        lanes: Sequence[Lane] = (Lane.THROUGHPUT,),
        device: str | None = None,
        isolate: bool = True,
        report: Report | None = None,
        defences: Defences = ALL_DEFENCES,
        ablation: bool = False,
    ) -> None:
        """`ablation` asks for one whatever the verdict; without it only a gain has one."""
        self._case = case
        self._ablation = ablation
        self._defences = defences
        self._rules = rules
        self._budget = budget
        self._lanes = tuple(lanes)
        self._device_name = device or case.task.device.value
        self._isolate = isolate
        self._report = report or (lambda _: None)
        self._labels = [*case.labels, *_labels_of(case), *defences.labels]
        self._builds: dict[str, Build] = {}
        self._programs: dict[str, Program] = {}
        self._prepare: dict[str, float] = {}
        self._checked = 0
        self._device_report: dict[str, Any] = {}
        self._sandbox: dict[str, bool] = {}
        self._lookout = Lookout(case.candidate)
        self._authentic = Authentic(case)
        self._watch = Stopwatch()
        self._twin: Callable[[], Program | None] = lambda: None

    def _open(self) -> RunnerDevice:
        device = open_judging_device(self._device_name, isolate=self._isolate)
        device.defences = self._defences
        return device

    def judge(self) -> Judgement:
        """The verdict. A candidate's failure of any kind is a verdict; only a user's mistake or a
        host's lack raises."""
        with ExitStack() as stack:
            with self._watch.on("open"):
                device = stack.enter_context(self._open())
                self._twin = stack.enter_context(self._twin_in_the_making(device.target))
                stack.enter_context(device.referee_core())
            try:
                with self._watch.on("build"):
                    baseline, candidate = self._built(device.target)
            except ProcessFailure as failure:
                return self._ended(failed(self._case.rows[0].id, failure))
            device.rows = {row.id: self._source(row, device) for row in self._case.rows}
            with Oracle(device, self._case) as oracle:
                with self._watch.on("exam"):
                    failure_found = self._examined(device, oracle, baseline, candidate)
                if failure_found is None:
                    with self._watch.on("authentic"):
                        failure_found = self._authenticated(device)
                if failure_found is not None:
                    return self._ended(failure_found)
                if self._interpreted(device.target):
                    return self._looked_into(self._untimed(), device, oracle)
                return self._timed(device, oracle)

    def ask(self, question: Question) -> TaskVerdict:
        """One question alone, for `--reproduce`."""
        with self._open() as device:
            baseline, candidate = self._built(device.target)
            with Oracle(device, self._case) as oracle:
                found = self._examined(device, oracle, baseline, candidate, [question])
        if found is not None:
            return self._ended(found).verdict
        reason = "this question is answered right"
        row = RowVerdict(
            row=question.row.id, lane=Lane.THROUGHPUT, status=Status.UNCLEAR, reason=reason
        )
        return self._judgement(self._verdict_of([row])).verdict

    # -- phases

    def _built(self, target: Target) -> tuple[Program, Program]:
        case = self._case
        self._check_rules()
        check_flags(case.candidate, case.baseline)
        flags = flags_for((case.baseline, case.candidate), target)
        try:
            self._builds["baseline"] = build(case.task, case.baseline, flags, target)
        except ProcessFailure as failure:
            raise UsageError(
                f"the baseline does not build: {failure}", where=case.task.name
            ) from None
        self._builds["candidate"] = build(case.task, case.candidate, flags, target)
        return self._builds["baseline"].program, self._builds["candidate"].program

    def _check_rules(self) -> None:
        solution, task = self._case.candidate.solution, self._case.task
        if solution.prepare and not task.contract.prepare:
            raise UsageError(
                f"solution {solution.name} has a prepare step, which {task.name} does not allow"
            )
        if not task.language.allows(solution.language):
            raise UsageError(
                f"{task.name} asks for {task.language}, solution {solution.name} is "
                f"{solution.language}"
            )

    def _examined(
        self,
        device: RunnerDevice,
        oracle: Oracle,
        baseline: Program,
        candidate: Program,
        asked: Sequence[Question] | None = None,
    ) -> RowVerdict | None:
        first_row = self._case.rows[0].id
        with ExitStack() as stack:
            begun = device.begin(baseline), device.begin(candidate)
            try:
                running_baseline = stack.enter_context(begun[0]())
            except ProcessFailure as failure:
                with suppress(ProcessFailure):
                    begun[1]().stop()
                raise UsageError(
                    f"the baseline does not load: {failure}", where=self._case.task.name
                ) from None
            self._note_isolation(running_baseline)
            try:
                running = stack.enter_context(begun[1]())
            except ProcessFailure as failure:
                return failed(first_row, failure)
            self._lookout.look(running_baseline, running)
            examiner = Examiner(self._case, oracle, running_baseline, running)
            # Hidden rows are drawn here: the candidate has long been sealed.
            todo = asked or questions(
                self._case, secrets.randbits(63), secrets.randbits(63), self._defences
            )

            def progress(question: Question) -> None:
                self._report(
                    Progress(todo.index(question), len(todo), f"checking {question.row.id}")
                )

            found = examiner.examine(todo, progress)
            self._lookout.look(running_baseline, running)
            processes = {Side.BASELINE: running_baseline, Side.CANDIDATE: running}
            foreign = self._authentic.look(processes)
            found = found or foreign
            if found is None:
                # What Triton or inductor compiled here serves every process that is timed.
                self._programs = {
                    "baseline": replace(baseline, cache=running_baseline.artefacts()),
                    "candidate": replace(candidate, cache=running.artefacts()),
                }
            return found

    def _authenticated(self, device: RunnerDevice) -> RowVerdict | None:
        """Whether the sides that are pinned by a lock launch what it says they do."""
        found = self._authentic.watch(device, self._programs)
        for label in self._authentic.labels:
            self._label(label)
        return found

    @contextmanager
    def _twin_in_the_making(self, target: Target) -> Iterator[Callable[[], Program | None]]:
        """The copy twin is compiled while the exam goes on; what is given waits for it."""
        if not compiler(target):
            yield lambda: None
            return
        pool = ThreadPoolExecutor(1)
        made = pool.submit(twin_program, self._case.task, target)
        try:
            yield made.result
        finally:
            pool.shutdown(cancel_futures=True)

    def _timed(self, device: RunnerDevice, oracle: Oracle) -> Judgement:
        with self._watch.on("twin"):
            twin = self._twin()
        if twin is not None:
            with self._watch.on("calibrate"), device.start(twin) as idle:
                device.calibrate(idle, self._case.rows[0].id)
        sitting = Sitting(
            device,
            self._programs["baseline"],
            self._programs["candidate"],
            self._rules,
            twin=twin,
            progress=self._report,
            after_row=lambda record, processes: self._check_kept(oracle, record, processes),
            watch=self._watch,
        )
        rows = [row.id for row in self._case.rows]
        try:
            with self._watch.on("readings"):
                records = sitting.run(rows, self._lanes, self._budget)
        except _WrongInTime as found:
            return self._ended(found.verdict)
        except SideFailed as failed_side:
            return self._ended(self._blamed(device, failed_side))
        self._device_report = device.report()
        return self._looked_into(self._concluded(records, device), device, oracle)

    def _blamed(self, device: RunnerDevice, found: SideFailed) -> RowVerdict:
        if found.side is Side.CANDIDATE:
            return failed(found.row, found.failure, found.lane)
        baseline, candidate = self._programs["baseline"], self._programs["candidate"]
        guilt = culprit(device, baseline, candidate, found.row, found.lane)
        if guilt is None:
            raise UsageError(str(found), where=self._case.task.name) from None
        return failed(found.row, guilt, found.lane)

    def _check_kept(
        self, oracle: Oracle, record: RowRecord, processes: Mapping[Side, Process]
    ) -> None:
        """Compare the timed calls that were kept, of both sides, with the oracle."""
        with self._watch.on("kept calls"):
            self._compare_kept(oracle, record, processes)

    def _compare_kept(
        self, oracle: Oracle, record: RowRecord, processes: Mapping[Side, Process]
    ) -> None:
        row = next(row for row in self._case.rows if row.id == record.row)
        baseline, candidate = processes[Side.BASELINE], processes[Side.CANDIDATE]
        assert isinstance(baseline, RunnerProcess)
        assert isinstance(candidate, RunnerProcess)
        self._lookout.look(baseline, candidate)
        prepared = candidate.prepare_nanoseconds(row.id) / 1000
        self._prepare[row.id] = max(self._prepare.get(row.id, 0.0), prepared)
        examiner = Examiner(self._case, oracle, baseline, candidate)
        question = Question(row, Distribution.NORMAL, 0)
        for side in (Side.CANDIDATE, Side.BASELINE, Side.ECHO):
            process = processes[side]
            assert isinstance(process, RunnerProcess)
            for kept in process.take_kept(at_least_one=side is Side.CANDIDATE):
                source = self._source(row, baseline.device)
                again = baseline.examine(source, kept.inputs, calls=1)
                truth = oracle.truth(row, kept.inputs)
                found = examiner.compare(question, truth, again.first, kept.outputs)
                self._checked += 1
                if found is not None and side is Side.CANDIDATE and self._defences.kept_calls:
                    raise _WrongInTime(found)
                if found is not None and side is not Side.CANDIDATE:
                    raise UsageError(f"the timed baseline is wrong: {found.reason}")

    def _looked_into(self, judgement: Judgement, device: RunnerDevice, oracle: Oracle) -> Judgement:
        """Of a gain: what ran on the device, and whether all of it was needed."""
        with self._watch.on("afterwards"):
            looked = self._look_into(judgement, device, oracle)
        return replace(looked, seconds=dict(self._watch.seconds))

    def _look_into(self, judgement: Judgement, device: RunnerDevice, oracle: Oracle) -> Judgement:
        verdict = judgement.verdict
        if not (self._ablation or verdict.verdict is Status.FASTER):
            return judgement
        if device.target.kind != "cpu":
            account = take_accounts(self._case, device, self._programs["candidate"])
            broken = conviction(account)
            if broken is not None:
                ended = with_account(self._verdict_of([broken]), account)
                return self._judgement(ended, judgement.records)
            verdict = with_account(verdict, account)
        # Of a published package nobody claims that all of it is needed.
        if self._ablation or self._case.candidate.lock is None:
            bench = Bench(self._case, device, oracle, self._programs["baseline"], self._tell)
            verdict = with_ablation(verdict, ablate(bench))
        return replace(judgement, verdict=verdict)

    def _tell(self, done: int, of: int, kernel: str) -> None:
        self._report(Progress(done, of, f"without {kernel}"))

    # -- endings

    def _concluded(self, records: Sequence[RowRecord], device: RunnerDevice) -> Judgement:
        calls = {row.id: row.calls for row in self._case.rows}
        for label in device.labels:
            self._label(label)
        verdict = conclude(self._case.task.name, records, self._rules, calls, self._labels)
        broken = first_impossible(self._case, verdict.rows, device)
        if broken is not None:
            verdict = self._verdict_of([broken])
        return self._judgement(verdict, tuple(records))

    def _untimed(self) -> Judgement:
        reason = "right, but not timed: Triton's interpreter has no speed"
        self._label("Triton interpreter: correctness only")
        rows = [
            RowVerdict(row=row.id, lane=Lane.THROUGHPUT, status=Status.UNCLEAR, reason=reason)
            for row in self._case.rows
        ]
        return self._judgement(self._verdict_of(rows))

    def _ended(self, row: RowVerdict) -> Judgement:
        return self._judgement(self._verdict_of([row]))

    def _verdict_of(self, rows: Sequence[RowVerdict]) -> TaskVerdict:
        return judge_task(self._case.task.name, rows, {}, self._rules, {}, self._labels)

    def _judgement(self, verdict: TaskVerdict, records: tuple[RowRecord, ...] = ()) -> Judgement:
        prepare = self._prepare if self._case.candidate.solution.prepare else {}
        return Judgement(
            verdict=verdict.model_copy(
                update={
                    "attention": self._lookout.findings(),
                    "authenticity": self._authentic.findings(),
                }
            ),
            records=records,
            builds=self._builds,
            prepare_us=prepare,
            checked_calls=self._checked,
            seconds=dict(self._watch.seconds),
            device=self._device_report,
            sandbox=self._sandbox,
        )

    # -- small things

    def _source(self, row: Row, device: RunnerDevice) -> RowSource:
        function = self._case.function_of(row)
        generator = seeded(device.torch_device, secrets.randbits(63))
        return RowSource(
            function, row, lambda: make_inputs(function, row, Distribution.NORMAL, generator)
        )

    def _note_isolation(self, process: RunnerProcess) -> None:
        self._sandbox = dict(process.runner.held)
        builds = [made.held for made in self._builds.values()]
        for label in isolation_labels(self._sandbox, process.device.parts_off, builds):
            self._label(label)

    def _label(self, label: str) -> None:
        if label not in self._labels:
            self._labels.append(label)

    def _interpreted(self, target: Target) -> bool:
        return (
            target.interprets_triton and self._case.candidate.solution.language is Language.TRITON
        )


def conclude(
    task: str,
    records: Sequence[RowRecord],
    rules: Rules,
    calls: Mapping[str, int | None],
    labels: Sequence[str],
) -> TaskVerdict:
    """The verdict that measured rows give; a reader of stored rows comes to the same."""
    verdicts = [record.verdict() for record in records]
    decided = [_reconciled(verdict, verdicts) for verdict in verdicts]
    tables = {
        record.row: block_table(record.samples, Pair.AB)
        for record in records
        if record.lane is Lane.THROUGHPUT
    }
    return judge_task(task, decided, tables, rules, calls, labels)


class _WrongInTime(Exception):  # noqa: N818 - a result, raised
    def __init__(self, verdict: RowVerdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict.model_copy(update={"reason": f"in a timed call: {verdict.reason}"})


def _labels_of(case: Case) -> list[str]:
    labels = []
    for name, contender in (("baseline", case.baseline), ("candidate", case.candidate)):
        if contender.solution.convention is not Convention.DESTINATION:
            labels.append(f"{name}: {contender.solution.convention}")
    if case.candidate.solution.prepare:
        labels.append("prepare step timed apart")
    return labels


def _reconciled(verdict: RowVerdict, every: Sequence[RowVerdict]) -> RowVerdict:
    """A throughput row with the word of its other lanes taken into account."""
    if verdict.lane is not Lane.THROUGHPUT:
        return verdict
    others = [v.status for v in every if v.row == verdict.row and v.lane is not verdict.lane]
    status = reconcile(verdict.status, others)
    if status is verdict.status:
        return verdict
    reason = f"throughput says {verdict.status}, another lane the opposite"
    return verdict.model_copy(update={"status": status, "reason": reason})
