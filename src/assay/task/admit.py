"""Admitting a task: its reference is mutated, and every mutant has to fall.

A mutant falls on a row if at least one distribution tells it from the reference by the task's own
limits. One that no input can tell is equivalent: it must be declared in task.toml with its reason,
and a declared one that falls after all is a mistake in the task.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from assay.device import open_judging_device
from assay.device.failure import ProcessFailure
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.case import Case
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.limits import check
from assay.judge.matters import varies_along_every_axis
from assay.judge.mutant_oracle import MutantOracle
from assay.judge.mutants import Mutant
from assay.judge.mutants import mutants
from assay.judge.oracle import Oracle
from assay.judge.sitting import Progress
from assay.spec.distribution import Distribution
from assay.spec.workload import Row
from assay.task.admission import Admission
from assay.task.admission import MutantFate
from assay.task.judging import contender_of
from assay.task.load import TaskFolder
from assay.task.load import load_baseline

Report = Callable[[Progress], None]
Tensors = Mapping[str, torch.Tensor]
_SEED = 20261115


@dataclass(frozen=True)
class _Answer:
    """What is right for one row and distribution, and what the baseline makes of it."""

    inputs: Mapping[str, torch.Tensor | None]
    truth: Tensors
    baseline: Tensors


def admit(
    task: TaskFolder, report: Report | None = None, *, device: str | None = None
) -> Admission:
    """Try every mutant on every row and say whether the task can fail."""
    loaded = load_baseline(task)
    contender = contender_of(loaded)
    case = Case(
        task.task, task.content_hash, task.workloads.rows, task.reference, contender, contender
    )
    with open_judging_device(device or task.task.device) as opened, _Trial(opened, case) as trial:
        return _admission(task, trial, loaded.content_hash, report or (lambda _: None))


def _admission(task: TaskFolder, trial: _Trial, baseline_hash: str, report: Report) -> Admission:
    declared = {(i.function, i.mutant): i.reason for i in task.task.equivalent_mutants}
    todo = {f.name: mutants(task.reference, f) for f in task.task.functions}
    found: dict[tuple[str, str], dict[str, str | None]] = {
        (function, mutant.name): {} for function, every in todo.items() for mutant in every
    }
    rows = task.workloads.rows
    for index, row in enumerate(rows):
        report(Progress(index, len(rows), f"mutants on {row.id}"))
        for mutant, killer in trial.killers(row, todo[row.function]).items():
            found[row.function, mutant][row.id] = killer
    report(Progress(len(rows), len(rows), "done"))
    fates = [
        _fate(f, m, by_row, declared.get((f, m), declared.get((None, m))))
        for (f, m), by_row in found.items()
    ]
    known = {*found, *((None, mutant) for _, mutant in found)}
    unknown = sorted(mutant for _, mutant in set(declared) - known)
    survivors = [*_survivors(fates), *(f"no mutant is called {name}" for name in unknown)]
    return Admission(
        task=task.task.name,
        task_hash=task.content_hash,
        baseline_hash=baseline_hash,
        admitted=not (survivors or trial.idle_inputs or trial.flat_axes),
        mutants=tuple(fates),
        idle_inputs=tuple(trial.idle_inputs),
        flat_axes=tuple(trial.flat_axes),
        killed=sum(not fate.survived for fate in fates),
        declared_equivalent=sum(fate.equivalent is not None for fate in fates),
        survivors=tuple(survivors),
    )


def _fate(
    function: str, mutant: str, by_row: Mapping[str, str | None], equivalent: str | None
) -> MutantFate:
    return MutantFate(
        function=function,
        mutant=mutant,
        killed_by={row: killer for row, killer in by_row.items() if killer is not None},
        survived=tuple(row for row, killer in by_row.items() if killer is None),
        equivalent=equivalent,
    )


def _survivors(fates: list[MutantFate]) -> Iterator[str]:
    for fate in fates:
        if fate.equivalent is None and fate.survived:
            yield f"{fate.mutant} passes on {', '.join(fate.survived)}"
        if fate.equivalent is not None and not fate.survived:
            yield f"{fate.mutant} is declared equivalent and falls all the same"


class _Trial:
    """Row by row the true answers, and the mutants held against them. One answer is in memory at a
    time: rows may be large, and a task may have a hundred of them."""

    def __init__(self, device: RunnerDevice, case: Case) -> None:
        self._device = device
        self._case = case
        self._stack = ExitStack()
        self._mutants: dict[str, MutantOracle] = {}
        self.idle_inputs: list[str] = []
        """Inputs that may be anything: other values of theirs change no output."""
        self.flat_axes: list[str] = []

    def __enter__(self) -> _Trial:
        case, target = self._case, self._device.target
        built = build(case.task, case.baseline, flags_for((case.baseline,), target), target)
        self._oracle = self._stack.enter_context(Oracle(self._device, case))
        self._baseline: RunnerProcess = self._stack.enter_context(self._device.start(built.program))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def killers(self, row: Row, every: Sequence[Mutant]) -> dict[str, str | None]:
        """By mutant, the first distribution that tells it from the reference on a row, or None.
        Those are left out that without an argument of theirs are the reference itself."""
        left = [m for m in every if all(row.tensors.get(name) is not None for name in m.needs)]
        found: dict[str, str | None] = dict.fromkeys((mutant.name for mutant in left), None)
        oracle = self._oracle_of(row, every)
        for distribution in Distribution:
            if not left and distribution is not Distribution.NORMAL:
                break
            answer = self._answer(row, distribution)
            if distribution is Distribution.NORMAL:
                self._look_at(row, answer)
            fallen = [mutant for mutant in left if self._falls(oracle, mutant, row, answer)]
            found.update((mutant.name, distribution.value) for mutant in fallen)
            left = [mutant for mutant in left if mutant not in fallen]
        return found

    def _oracle_of(self, row: Row, every: Sequence[Mutant]) -> MutantOracle:
        """One for all rows of a function; another function's is closed first."""
        if row.function not in self._mutants:
            for other in self._mutants.values():
                other.close()
            made = MutantOracle(self._device, self._case, self._case.function_of(row), every)
            self._mutants = {row.function: self._stack.enter_context(made)}
        return self._mutants[row.function]

    def _falls(self, oracle: MutantOracle, mutant: Mutant, row: Row, answer: _Answer) -> bool:
        try:
            mutated = oracle.truth(mutant, row, answer.inputs)
        except ProcessFailure:  # a mutant that does not even answer is told apart
            return True
        for name, right in answer.truth.items():
            baseline = answer.baseline[name]
            got = mutated[name].to(baseline.dtype)
            if check(right, baseline, got, self._case.task.tolerance) is not None:
                return True
        return False

    def _answer(self, row: Row, distribution: Distribution) -> _Answer:
        function = self._case.function_of(row)
        generator = seeded(self._device.torch_device, _SEED)
        contents = make_inputs(function, row, distribution, generator)
        exam = self._baseline.examine(RowSource(function, row, lambda: contents), contents)
        return _Answer(exam.inputs, self._oracle.truth(row, exam.inputs), exam.first)

    def _look_at(self, row: Row, answer: _Answer) -> None:
        """Whether every input matters, and every output varies along each of its axes."""
        generator = seeded(self._device.torch_device, _SEED + 1)
        function = self._case.function_of(row)
        other = make_inputs(function, row, Distribution.NORMAL, generator)
        for name, tensor in answer.inputs.items():
            if tensor is None or tensor.numel() == 0:
                continue
            changed = self._oracle.truth(row, {**answer.inputs, name: other[name]})
            if all(torch.equal(changed[k], answer.truth[k]) for k in changed):
                self.idle_inputs.append(f"row {row.id}: input {name} changes nothing")
        for name, tensor in answer.truth.items():
            if not varies_along_every_axis(tensor):
                self.flat_axes.append(f"row {row.id}: output {name} does not vary along every axis")
