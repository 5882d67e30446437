"""The exam: is a candidate right, on every row and every distribution?"""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from assay.device.failure import ProcessFailure
from assay.device.runners import RowSource
from assay.device.runners import RunnerProcess
from assay.device.runners.bits import same_bits
from assay.judge.case import Case
from assay.judge.hidden import draw_rows
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.limits import check
from assay.judge.miss import Miss
from assay.judge.oracle import Oracle
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import WrongValue
from assay.spec.workload import Row

HIDDEN_ROWS = 4
_HIDDEN_ELEMENTS = 2**17
"""Hidden rows ask for odd shapes and layouts, not for size."""
_LOOSE = 1e-2


@dataclass(frozen=True)
class Question:
    """One row with one set of inputs. Its token is all that is needed to ask it again."""

    row: Row
    distribution: Distribution
    seed: int
    hidden_seed: int | None = None

    @property
    def token(self) -> str:
        parts = [self.row.id, self.distribution.value, str(self.seed)]
        return "/".join(parts if self.hidden_seed is None else [*parts, str(self.hidden_seed)])


def questions(
    case: Case, seed: int, hidden_seed: int, defences: Defences = ALL_DEFENCES
) -> list[Question]:
    """Every frozen row and, once the candidate is sealed, hidden rows; each with all
    distributions."""
    hidden = hidden_rows(case, hidden_seed) if defences.hidden_rows else ()
    kinds = tuple(Distribution) if defences.distributions else (Distribution.NORMAL,)
    asked = [Question(row, kind, seed) for row in case.rows for kind in kinds]
    return asked + [Question(row, kind, seed, hidden_seed) for row in hidden for kind in kinds]


def hidden_rows(case: Case, hidden_seed: int) -> tuple[Row, ...]:
    return draw_rows(case.task, HIDDEN_ROWS, random.Random(hidden_seed), _HIDDEN_ELEMENTS)


def question_from(case: Case, token: str) -> Question:
    """The question that a token names, for `--reproduce`."""
    parts = token.split("/")
    try:
        name, kind, seed, *hidden = parts
        distribution = Distribution(kind)
        hidden_seed = int(hidden[0]) if hidden else None
        rows = case.rows if hidden_seed is None else hidden_rows(case, hidden_seed)
        row = next(row for row in rows if row.id == name)
        return Question(row, distribution, int(seed), hidden_seed)
    except (ValueError, StopIteration, IndexError):
        raise UsageError(
            "that is no question of this task",
            where="--reproduce",
            next_step="copy the token from the verdict, as row/distribution/seed",
        ) from None


class Examiner:
    """Puts questions to a baseline and a candidate and compares both with the truth."""

    def __init__(
        self, case: Case, oracle: Oracle, baseline: RunnerProcess, candidate: RunnerProcess
    ) -> None:
        self._case = case
        self._oracle = oracle
        self._baseline = baseline
        self._candidate = candidate
        self._defences = candidate.device.defences

    def examine(
        self, asked: Iterable[Question], progress: Callable[[Question], None]
    ) -> RowVerdict | None:
        """The first failure, or None if every answer was right."""
        for question in asked:
            progress(question)
            verdict = self.ask(question)
            if verdict is not None:
                return verdict
        return None

    def ask(self, question: Question) -> RowVerdict | None:
        function = self._case.function_of(question.row)
        generator = seeded(self._candidate.device.torch_device, question.seed)
        contents = make_inputs(function, question.row, question.distribution, generator)
        source = RowSource(function, question.row, lambda: contents)
        try:
            baseline = self._baseline.examine(source, contents)
        except ProcessFailure as failure:
            raise UsageError(
                f"the baseline failed: {failure}",
                where=f"{self._case.task.name}: {question.token}",
                next_step="a task is judged against a baseline that works",
            ) from None
        try:
            candidate = self._candidate.examine(source, contents)
        except ProcessFailure as failure:
            return failed(question.row.id, failure)
        if self._case.task.contract.deterministic and self._defences.determinism:
            difference = _difference(*candidate.outputs)
            if difference is not None:
                return RowVerdict(
                    row=question.row.id,
                    lane=Lane.THROUGHPUT,
                    status=Status.NONDETERMINISTIC,
                    reason=f"two equal calls differ in {difference} ({question.token})",
                )
        truth = self._oracle.truth(question.row, baseline.inputs)
        return self.compare(question, truth, baseline.first, candidate.first)

    def compare(
        self,
        question: Question,
        truth: Mapping[str, torch.Tensor],
        baseline: Mapping[str, torch.Tensor],
        candidate: Mapping[str, torch.Tensor],
    ) -> RowVerdict | None:
        for name, right in truth.items():
            if not self._defences.limits and _is_about(right, candidate[name]):
                continue
            miss = check(right, baseline[name], candidate[name], self._case.task.tolerance)
            if miss is not None:
                return wrong(self._case, question, name, miss)
        return None


def failed(row: str, failure: ProcessFailure, lane: Lane = Lane.THROUGHPUT) -> RowVerdict:
    """A candidate that did not answer, as a verdict."""
    return RowVerdict(
        row=row,
        lane=lane,
        status=failure.status,
        reason=" ".join(str(failure).split()) or failure.status.value,
        violation=failure.violation,
    )


def wrong(case: Case, question: Question, output: str, miss: Miss) -> RowVerdict:
    where = f"{output}{list(miss.first_bad_index)}"
    return RowVerdict(
        row=question.row.id,
        lane=Lane.THROUGHPUT,
        status=Status.WRONG_VALUE,
        reason=(
            f"{miss.wrong_elements} of {miss.elements} wrong, first {where} = {miss.got} where "
            f"{miss.expected} is right: {miss.why} ({question.distribution})"
        ),
        wrong=WrongValue(
            row=question.row.id,
            distribution=question.distribution.value,
            output=output,
            first_bad_index=miss.first_bad_index,
            expected=miss.expected,
            got=miss.got,
            wrong_elements=miss.wrong_elements,
            elements=miss.elements,
            reproduce=(
                f"assay judge {case.task.name} --candidate {case.candidate.solution.name} "
                f"--reproduce {question.token}"
            ),
        ),
    )


def _is_about(right: torch.Tensor, got: torch.Tensor) -> bool:
    """The usual comparison, for when the error budget is switched off."""
    return torch.allclose(got.to(right.dtype), right, rtol=_LOOSE, atol=_LOOSE, equal_nan=True)


def _difference(
    first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]
) -> str | None:
    for name, one in first.items():
        if not same_bits(one, second[name]):
            return name
    return None
