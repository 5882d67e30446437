"""Case: what is put before the judge. Everything is in memory; nothing on disk matters any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.spec.lock import BaselineLock
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.task import Function
from assay.spec.task import Task
from assay.spec.workload import Row


@dataclass(frozen=True)
class Contender:
    """A sealed solution and the bytes that its seal covers."""

    sealed: SealedSolution
    sources: Mapping[str, bytes]
    lock: BaselineLock | None = None
    """Of a baseline out of a wheel, whichever side it is on."""

    @property
    def solution(self) -> Solution:
        return self.sealed.solution


@dataclass(frozen=True)
class Case:
    task: Task
    task_hash: str
    rows: tuple[Row, ...]
    reference: str
    baseline: Contender
    candidate: Contender
    labels: tuple[str, ...] = ()

    def function_of(self, row: Row) -> Function:
        function = self.task.function(row.function)
        assert function is not None  # checked when the rows were bound to the task
        return function
