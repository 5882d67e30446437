"""Admitting a task: its reference is mutated, and every mutant has to fall.

A mutant falls on a row if at least one distribution tells it from the reference by the task's own
limits. One that no input can tell is equivalent: it must be declared in task.toml with its reason,
and a declared one that falls after all is a mistake in the task.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
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
from assay.judge.case import Contender
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.limits import check
from assay.judge.matters import varies_along_every_axis
from assay.judge.mutants import Mutant
from assay.judge.mutants import mutants
from assay.judge.oracle import Oracle
from assay.judge.sitting import Progress
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.task import Function
from assay.spec.workload import Row
from assay.task.admission import Admission
from assay.task.admission import MutantFate
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
    contender = Contender(loaded.sealed, loaded.sources)
    case = Case(
        task.task, task.content_hash, task.workloads.rows, task.reference, contender, contender
    )
    with open_judging_device(device or task.task.device) as opened, _Trial(opened, case) as trial:
        return _admission(task, trial, loaded.content_hash, report or (lambda _: None))


def _admission(task: TaskFolder, trial: _Trial, baseline_hash: str, report: Report) -> Admission:
    declared = {item.mutant: item.reason for item in task.task.equivalent_mutants}
    todo = [(f, m) for f in task.task.functions for m in mutants(task.reference, f)]
    fates: list[MutantFate] = []
    for index, (function, mutant) in enumerate(todo):
        report(Progress(index, len(todo), f"mutant {mutant.name}"))
        fates.append(trial.fate(function, mutant, declared.get(mutant.name)))
    report(Progress(len(todo), len(todo), "done"))
    unknown = set(declared) - {mutant.name for _, mutant in todo}
    survivors = [*_survivors(fates), *(f"no mutant is called {name}" for name in sorted(unknown))]
    idle, flat = tuple(trial.idle_inputs()), tuple(trial.flat_axes())
    return Admission(
        task=task.task.name,
        task_hash=task.content_hash,
        baseline_hash=baseline_hash,
        admitted=not (survivors or idle or flat),
        mutants=tuple(fates),
        idle_inputs=idle,
        flat_axes=flat,
        killed=sum(not fate.survived for fate in fates),
        declared_equivalent=sum(fate.equivalent is not None for fate in fates),
        survivors=tuple(survivors),
    )


def _survivors(fates: list[MutantFate]) -> Iterator[str]:
    for fate in fates:
        if fate.equivalent is None and fate.survived:
            yield f"{fate.mutant} passes on {', '.join(fate.survived)}"
        if fate.equivalent is not None and not fate.survived:
            yield f"{fate.mutant} is declared equivalent and falls all the same"


class _Trial:
    """The true answers of every row, worked out once, and the mutants held against them."""

    def __init__(self, device: RunnerDevice, case: Case) -> None:
        self._device = device
        self._case = case
        self._oracle = Oracle(device, case)
        flags = flags_for((case.baseline,), device.target)
        built = build(case.task, case.baseline, flags, device.target)
        self._baseline: RunnerProcess = device.start(built.program)
        self._answers: dict[tuple[str, Distribution], _Answer] = {}

    def __enter__(self) -> _Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self._oracle.close()
        self._baseline.stop()

    def fate(self, function: Function, mutant: Mutant, equivalent: str | None) -> MutantFate:
        killed: dict[str, str] = {}
        survived: list[str] = []
        try:
            with Oracle(self._device, self._case, mutant.source) as oracle:
                for row in self._rows(function, mutant):
                    by = self._killer(oracle, row)
                    if by is None:
                        survived.append(row.id)
                    else:
                        killed[row.id] = by.value
        except ProcessFailure:  # it does not even load
            killed = {row.id: Distribution.NORMAL.value for row in self._rows(function, mutant)}
        return MutantFate(
            function=function.name,
            mutant=mutant.name,
            killed_by=killed,
            survived=tuple(survived),
            equivalent=equivalent,
        )

    def _rows(self, function: Function, mutant: Mutant) -> list[Row]:
        """The rows that pass every argument without which the mutant is the reference itself."""
        return [
            row
            for row in self._case.rows
            if row.function == function.name
            and all(row.tensors.get(name) is not None for name in mutant.needs)
        ]

    def _killer(self, oracle: Oracle, row: Row) -> Distribution | None:
        for distribution in Distribution:
            answer = self._answer(row, distribution)
            try:
                mutated = oracle.truth(row, answer.inputs)
            except UsageError:  # a mutant that raises is told apart
                return distribution
            for name, right in answer.truth.items():
                baseline = answer.baseline[name]
                got = mutated[name].to(baseline.dtype)
                if check(right, baseline, got, self._case.task.tolerance) is not None:
                    return distribution
        return None

    def _answer(self, row: Row, distribution: Distribution) -> _Answer:
        key = (row.id, distribution)
        if key not in self._answers:
            function = self._case.function_of(row)
            generator = seeded(self._device.torch_device, _SEED)
            contents = make_inputs(function, row, distribution, generator)
            exam = self._baseline.examine(RowSource(function, row, lambda: contents), contents)
            truth = self._oracle.truth(row, exam.inputs)
            self._answers[key] = _Answer(exam.inputs, truth, exam.first)
        return self._answers[key]

    def idle_inputs(self) -> Iterator[str]:
        """Inputs that may be anything: other values of theirs change no output."""
        for row in self._case.rows:
            answer = self._answer(row, Distribution.NORMAL)
            generator = seeded(self._device.torch_device, _SEED + 1)
            function = self._case.function_of(row)
            other = make_inputs(function, row, Distribution.NORMAL, generator)
            for name, tensor in answer.inputs.items():
                if tensor is None or tensor.numel() == 0:
                    continue
                changed = self._oracle.truth(row, {**answer.inputs, name: other[name]})
                if all(torch.equal(changed[k], answer.truth[k]) for k in changed):
                    yield f"row {row.id}: input {name} changes nothing"

    def flat_axes(self) -> Iterator[str]:
        for row in self._case.rows:
            for name, tensor in self._answer(row, Distribution.NORMAL).truth.items():
                if not varies_along_every_axis(tensor):
                    yield f"row {row.id}: output {name} does not vary along every axis"
