"""What a KernelBench problem takes and gives, found by running it; inside the sandbox alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.task.exchange import probing
from assay.task.exchange.kernelbench_problem import Problem


def main() -> None:
    probing.answer(probe)


def probe(request: dict[str, Any]) -> dict[str, Any]:
    problem = Problem(probing.load_source(Path(request["problem"]), "problem"))
    problem.check_modules()
    answers = problem.check_calls()
    problem.check_other_data(answers)
    remarks = [*problem.remarks(), *problem.check_precision(answers)]
    outputs = [
        {"shape": list(tensor.shape), "dtype": probing.dtype_name(tensor, "an output")}
        for tensor in answers
    ]
    return {
        "inputs": problem.described_inputs(),
        "weights": problem.described_weights(),
        "outputs": outputs,
        "remarks": remarks,
    }
