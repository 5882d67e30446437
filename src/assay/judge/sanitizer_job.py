"""The job that runs under the sanitizer: which rows, and what their inputs hold."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from assay.device.runners import Program
from assay.device.runners import Target
from assay.device.runners.layout import lay_out
from assay.judge.hidden import draw_rows
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.task import Task
from assay.spec.workload import Row

CALLS = 2
"""Of each row, every one with tensors of its own."""
OUTCOME = "outcome.json"

_MOST_ELEMENTS = 2**14
_FEWEST_DRAWN = 4


def small_rows(task: Task, rows: Sequence[Row], seed: int) -> tuple[Row, ...]:
    """The smallest frozen row of each function, and small ones drawn from the domain."""
    frozen = [
        min((row for row in rows if row.function == name), key=_elements)
        for name in dict.fromkeys(row.function for row in rows)
    ]
    count = max(_FEWEST_DRAWN, 2 * len(task.functions))
    try:
        drawn = draw_rows(task, count, random.Random(seed), _MOST_ELEMENTS)
    except UsageError:  # the domain has none so small; then it is the frozen ones alone
        drawn = ()
    return (*frozen, *drawn)


def _elements(row: Row) -> int:
    return sum(tensor.storage_elements for tensor in row.tensors.values() if tensor is not None)


def write_job(folder: Path, program: Program, rows: Sequence[Row], device: str, seed: int) -> Path:
    """What assay.runner.once reads: the solution, its rows, and the bytes of their inputs."""
    generator = seeded("cpu", seed)
    described: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        function = program.task.function(row.function)
        assert function is not None  # checked when the rows were bound to the task
        contents: dict[str, str] = {}
        for name, values in make_inputs(function, row, Distribution.NORMAL, generator).items():
            tensor = row.tensors.get(name)
            if values is not None and tensor is not None:
                contents[name] = f"{index}-{name}"
                (folder / contents[name]).write_bytes(_stored(values, tensor.storage_elements))
        request = lay_out(function, row, CALLS).request(row.id)
        described.append({"request": request, "contents": contents})
    interpret = Target(kind_of(device)).interprets_triton
    load = program.request(interpret=interpret)
    job = {"device": device, "load": load, "rows": described, "outcome": OUTCOME}
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    return path


def kind_of(device: str) -> str:
    """`cuda` of `cuda:1`."""
    return device.partition(":")[0]


def _stored(values: torch.Tensor, elements: int) -> bytes:
    """A storage full of a tensor's values: gaps between strided rows hold some of them too, as
    reading such a gap is no mistake."""
    flat = values.reshape(-1)
    if flat.numel() == 0:
        return bytes(elements * flat.dtype.itemsize)
    filled = flat[torch.arange(elements) % flat.numel()]
    return filled.view(torch.uint8).numpy().tobytes()
