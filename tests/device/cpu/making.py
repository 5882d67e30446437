"""A tiny task, and solutions of it as strings: honest ones and bad ones."""

from __future__ import annotations

import textwrap
from typing import Any

import torch

from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.spec.documents import parse_document
from assay.spec.noun import sha256_hex
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Workloads

REFERENCE = "def twice(x, *, bias):\n    return 2 * x + bias\n"

TASK: dict[str, Any] = {
    "schema": "assay.task.1",
    "name": "test/twice",
    "summary": "y = 2 x + bias",
    "functions": [
        {
            "name": "twice",
            "summary": "twice each element, plus a bias",
            "arguments": [
                {"name": "x", "role": "input", "shape": ["n"], "dtypes": ["float32"]},
                {"name": "y", "role": "output", "shape": ["n"], "like": "x"},
            ],
            "options": [{"name": "bias", "low": -1.0, "high": 1.0}],
        }
    ],
    "domain": {
        "axes": {"n": {"low": 1, "high": 8192}},
        "layouts": ["contiguous", "strided", "misaligned"],
    },
    "contract": {"prepare": True},
    "baselines": [{"kind": "local", "name": "plain", "primary": True, "path": "baselines/plain"}],
}

ROWS: dict[str, Any] = {
    "schema": "assay.workloads.1",
    "rows": [
        {
            "id": "n4096",
            "function": "twice",
            "tensors": {
                "x": {"shape": [4096], "dtype": "float32"},
                "y": {"shape": [4096], "dtype": "float32"},
            },
            "options": {"bias": 0.5},
        }
    ],
}

PLAIN = "import torch\ndef twice(x, y, *, bias):\n    torch.mul(x, 2, out=y)\n    y.add_(bias)\n"


def task() -> Task:
    return parse_document(TASK, Task, "task.toml")


def rows() -> tuple[Row, ...]:
    return parse_document(ROWS, Workloads, "workloads.json").rows


def contender(source: str, *, language: str = "torch", **more: Any) -> Contender:
    """A solution of one file."""
    name = "kernel.cpp" if language == "cpp" else "kernel.py"
    content = textwrap.dedent(source).encode()
    solution = parse_document(
        {
            "schema": "assay.solution.1",
            "name": "made",
            "language": language,
            "sources": [name],
            "entry": name,
            **more,
        },
        Solution,
        "solution.toml",
    )
    file = SourceFile(path=name, sha256=sha256_hex(content), bytes=len(content))
    return Contender(SealedSolution(solution=solution, files=(file,)), {name: content})


def case(candidate: Contender, baseline: Contender | None = None) -> Case:
    return Case(
        task=task(),
        task_hash="0" * 64,
        rows=rows(),
        reference=REFERENCE,
        baseline=baseline or contender(PLAIN),
        candidate=candidate,
    )


def program(source: str, **more: Any) -> Program:
    made = contender(source, **more)
    return Program(task(), made.solution, made.sources, made.solution.entry)


def source_of(row: Row) -> RowSource:
    function = task().function(row.function)
    assert function is not None
    return RowSource(function, row, lambda: {"x": torch.randn(row.tensors["x"].shape)})  # type: ignore[union-attr]
