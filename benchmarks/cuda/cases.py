"""A copy as a task, and how a judgement is told: what all parts of the GPU's record need."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from assay.device.cuda import CudaDevice
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.referee import Judgement
from assay.spec.distribution import Distribution
from assay.spec.documents import parse_document
from assay.spec.noun import sha256_hex
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Workloads

COPY: dict[str, Any] = {
    "schema": "assay.task.1",
    "name": "probe/copy",
    "summary": "y = x",
    "device": "cuda",
    "functions": [
        {
            "name": "copy",
            "summary": "a copy",
            "arguments": [
                {"name": "x", "role": "input", "shape": ["n"], "dtypes": ["float32"]},
                {"name": "y", "role": "output", "shape": ["n"], "like": "x"},
            ],
        }
    ],
    "domain": {"axes": {"n": {"low": 1, "high": 2**30}}},
    "baselines": [{"kind": "local", "name": "plain", "primary": True, "path": "baselines/plain"}],
}


PLAIN = "def copy(x, y):\n    y.copy_(x)\n"


def copy_rows(megabytes: Iterable[float]) -> tuple[Row, ...]:
    """Rows that move so many megabytes in all, half of them read and half written."""
    rows = []
    for moved in megabytes:
        spec = {"shape": [int(moved * 1e6 / 8)], "dtype": "float32"}
        rows.append({"id": f"mb{moved:g}", "function": "copy", "tensors": {"x": spec, "y": spec}})
    return parse_document({"schema": "assay.workloads.1", "rows": rows}, Workloads, "rows").rows


def contender(source: str, name: str = "made") -> Contender:
    content = source.encode()
    document = {
        "schema": "assay.solution.1",
        "name": name,
        "language": "torch",
        "sources": ["kernel.py"],
        "entry": "kernel.py",
    }
    solution = parse_document(document, Solution, "solution.toml")
    file = SourceFile(path="kernel.py", sha256=sha256_hex(content), bytes=len(content))
    return Contender(SealedSolution(solution=solution, files=(file,)), {"kernel.py": content})


def copy_case(candidate: str, megabytes: Iterable[float], baseline: str = PLAIN) -> Case:
    return Case(
        task=parse_document(COPY, Task, "task.toml"),
        task_hash="0" * 64,
        rows=copy_rows(megabytes),
        reference="def copy(x):\n    return x.clone()\n",
        baseline=contender(baseline),
        candidate=contender(candidate),
    )


def told(judgement: Judgement) -> dict[str, Any]:
    verdict = judgement.verdict
    return {
        "verdict": verdict.verdict.value,
        "geomean": verdict.geomean,
        "interval": list(verdict.interval) if verdict.interval else None,
        "reason": verdict.reason,
        "labels": list(verdict.labels),
        "rows": [
            {
                "row": row.row,
                "lane": row.lane.value,
                "status": row.status.value,
                "ratio": row.ratio,
                "interval": list(row.interval) if row.interval else None,
                "floor": row.measurement.floor if row.measurement else None,
                "dropped": row.measurement.dropped_blocks if row.measurement else None,
                "baseline_us": row.baseline_us,
                "candidate_us": row.candidate_us,
                "twin_us": row.twin_us,
                "reason": row.reason,
                "violation": row.violation.value if row.violation else None,
            }
            for row in verdict.rows
        ],
    }


def show(found: Mapping[str, Any]) -> None:
    for row in found["rows"]:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.4f}"
        print(
            f"  {row['row']:>24} {row['lane']:<10} {row['status']:<10} {ratio} "
            f"{row['interval'] and [round(x, 4) for x in row['interval']]} "
            f"base {row['baseline_us'] and round(row['baseline_us'], 2)} "
            f"twin {row['twin_us'] and round(row['twin_us'], 2)} {row['reason']}"
        )
    print(f"  {found['verdict']} {found['geomean']} {found['interval']}", flush=True)


def source_of(case: Case, row: Row, device: CudaDevice) -> RowSource:
    function = case.function_of(row)
    generator = seeded(device.torch_device, 7)
    return RowSource(
        function, row, lambda: make_inputs(function, row, Distribution.NORMAL, generator)
    )


def program_of(task: Task, made: Contender) -> Program:
    return Program(task, made.solution, made.sources, made.solution.entry)
