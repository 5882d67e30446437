"""The oracle: the task's reference, in float64, in a process of its own.

A reference may be somebody else's code too. It is run as the candidate is: by a runner, on memory
of the referee, which asks it for the truth and never imports it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from types import TracebackType
from typing import Self

import torch

from assay.device.failure import ProcessFailure
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.judge.case import Case
from assay.spec.contract import Convention
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

_TRUTH = "__truth"


class Oracle:
    """Answers what is right for given inputs."""

    def __init__(self, device: RunnerDevice, case: Case, reference: str | None = None) -> None:
        self._case = case
        solution = Solution(
            name="reference",
            language=Language.TORCH,
            sources=("reference.py",),
            entry="reference.py",
            convention=Convention.RETURNS,
        )
        source = (reference or case.reference).encode()
        program = Program(case.task, solution, {"reference.py": source}, "reference.py")
        self._begun = device.begin(program)

    @cached_property
    def _process(self) -> RunnerProcess:
        """Waited for when it is first asked: others start beside it."""
        return self._begun()

    def truth(self, row: Row, inputs: Mapping[str, torch.Tensor | None]) -> dict[str, torch.Tensor]:
        """The right outputs in float64 (whole numbers in int64), by argument name."""
        try:
            return ask(self._process, self._case.function_of(row), row, inputs)
        except ProcessFailure as failure:
            raise UsageError(
                f"the reference failed: {failure}",
                where=f"{self._case.task.name}: reference.py, row {row.id}",
                next_step="mend the reference; a task whose truth is unknown cannot be judged",
            ) from None

    def close(self) -> None:
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def ask(
    process: RunnerProcess,
    function: Function,
    row: Row,
    inputs: Mapping[str, torch.Tensor | None],
    name: str | None = None,
) -> dict[str, torch.Tensor]:
    """What a reference in a process returns for a row, in float64; under another name, if it has
    one there."""
    precise, wide = _precise(function), _precise_row(function, row, inputs)
    if name is not None:
        precise = precise.model_copy(update={"name": name})
        wide = wide.model_copy(update={"id": f"{wide.id}-{name}"[-120:], "function": name})
    contents = {key: _widened(tensor) for key, tensor in inputs.items()}
    outputs = process.examine(RowSource(precise, wide, dict), contents, calls=1).first
    return {key.removesuffix(_TRUTH): tensor for key, tensor in outputs.items()}


def _widened(tensor: torch.Tensor | None) -> torch.Tensor | None:
    if tensor is None or tensor.dtype is torch.bool:
        return tensor
    return tensor.to(torch.float64 if tensor.dtype.is_floating_point else torch.int64)


def _wide(dtype: DType) -> DType:
    if dtype is DType.BOOL:
        return dtype
    return DType.FLOAT64 if dtype.is_floating else DType.INT64


def _precise(function: Function) -> Function:
    """The function as the reference has it: inputs first, then what it returns."""
    every = tuple(DType)
    given = [
        Argument(name=a.name, role=Role.INPUT, shape=a.shape, dtypes=every, optional=a.optional)
        for a in function.arguments
        if a.role is not Role.OUTPUT
    ]
    returned = [
        Argument(name=a.name + _TRUTH, role=Role.OUTPUT, shape=a.shape, dtypes=every)
        for a in function.arguments
        if a.role is not Role.INPUT
    ]
    return Function(
        name=function.name,
        summary=function.summary,
        arguments=(*given, *returned),
        options=function.options,
    )


def _precise_row(function: Function, row: Row, inputs: Mapping[str, torch.Tensor | None]) -> Row:
    tensors: dict[str, TensorSpec | None] = {}
    for argument in function.arguments:
        spec = row.tensors.get(argument.name)
        wide = None if spec is None else TensorSpec(shape=spec.shape, dtype=_wide(spec.dtype))
        if argument.role is not Role.OUTPUT:
            tensors[argument.name] = wide if inputs.get(argument.name) is not None else None
        if argument.role is not Role.INPUT:
            tensors[argument.name + _TRUTH] = wide
    # A hash in the id: the same row id may come again with other optionals present.
    digest = hashlib.sha256(repr(sorted(tensors.items())).encode()).hexdigest()[:12]
    return Row(
        id=f"{row.id[:80]}-{digest}", function=row.function, tensors=tensors, options=row.options
    )
