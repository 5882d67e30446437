"""All mutants of a reference in one process, each asked for what it takes to be right.

They are our own changes to one source, so they need no walls between them; and a row's true answer
is worked out once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Self

import torch

from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.judge.case import Case
from assay.judge.mutants import Mutant
from assay.judge.oracle import ask
from assay.spec.contract import Convention
from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Function
from assay.spec.workload import Row

_ENTRY = "mutants.py"
_LOADER = '''"""Every mutant under a name of its own; what does not load says so when called."""

import importlib


def _load(module, function, name):
    try:
        globals()[name] = getattr(importlib.import_module(module), function)
    except Exception as error:  # a mutant may do anything when it is loaded
        def broken(*_, told=repr(error), **__):
            raise RuntimeError(told)

        globals()[name] = broken


'''


class MutantOracle:
    """Answers as the mutants of one function would; the process starts again after it has died."""

    def __init__(
        self, device: RunnerDevice, case: Case, function: Function, mutants: Sequence[Mutant]
    ) -> None:
        self._device = device
        self._function = function
        names = [f"{function.name}__{index}" for index in range(len(mutants))]
        self._names = dict(zip([mutant.name for mutant in mutants], names, strict=True))
        sources = {f"mutant_{i}.py": mutant.source.encode() for i, mutant in enumerate(mutants)}
        loads = [
            f'_load("mutant_{index}", "{function.name}", "{name}")\n'
            for index, name in enumerate(names)
        ]
        sources[_ENTRY] = (_LOADER + "".join(loads)).encode()
        solution = Solution(
            name="mutants",
            language=Language.TORCH,
            sources=tuple(sources),
            entry=_ENTRY,
            convention=Convention.RETURNS,
        )
        self._program = Program(case.task, solution, sources, _ENTRY)
        self._process: RunnerProcess | None = None

    def truth(
        self, mutant: Mutant, row: Row, inputs: Mapping[str, torch.Tensor | None]
    ) -> dict[str, torch.Tensor]:
        """What the mutant makes of a row; raises ProcessFailure where it fails."""
        if self._process is None or not self._process.runner.alive():
            self.close()
            self._process = self._device.start(self._program)
        return ask(self._process, self._function, row, inputs, self._names[mutant.name])

    def close(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
