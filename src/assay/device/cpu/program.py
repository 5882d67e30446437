"""CpuProgram: a solution ready to be loaded by a runner, with the rows it will be called on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Task


@dataclass(frozen=True)
class CpuProgram:
    task: Task
    solution: Solution
    files: Mapping[str, bytes]
    """What is written into the runner's own folder: sources, or the built library alone."""
    entry: str

    def request(self) -> dict[str, Any]:
        return {
            "do": "load",
            "language": self.solution.language.value,
            "entry": self.entry,
            "files": {path: content.hex() for path, content in self.files.items()},
            "config": dict(self.solution.config)
            if self.solution.language is not Language.CPP
            else {},
            "convention": self.solution.convention.value,
            "prepare": self.solution.prepare,
            "interpret": self.solution.language is Language.TRITON,
        }
