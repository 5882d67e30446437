"""Small tasks and their references, for tests of inputs, hidden rows and mutants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from assay.spec.documents import parse_document
from assay.spec.dtype import DType
from assay.spec.task import Function
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec

RMS_NORM = """
import torch

def rms_norm(x, w, eps):
    mean_square = (x * x).mean(dim=-1, keepdim=True)
    y = x * torch.rsqrt(mean_square + eps)
    if w is not None:
        y = y * w
    return y
"""

LAYER_NORM = """
import torch

def layer_norm(x, residual, weight, bias, eps):
    total = x + residual
    centred = total - total.mean(dim=-1, keepdim=True)
    variance = total.var(dim=-1, keepdim=True, unbiased=False)
    return centred / torch.sqrt(variance + eps) * weight + bias
"""

CLAMPED_GATE = """
import torch

def clamped_gate(gate, up, limit):
    kept = torch.where(gate > limit, limit, gate)
    return kept * torch.sigmoid(kept) * (up + 1)
"""


def _argument(name: str, role: str, shape: list[Any], **more: Any) -> dict[str, Any]:
    rule = {} if "like" in more or "dtypes" in more else {"dtypes": ["float32", "bfloat16"]}
    return {"name": name, "role": role, "shape": shape, **rule, **more}


def task_of(
    name: str, arguments: list[dict[str, Any]], options: list[dict[str, Any]], **domain: Any
) -> Task:
    return parse_document(
        {
            "schema": "assay.task.1",
            "name": f"test/{name}",
            "summary": f"{name} for tests",
            "functions": [
                {"name": name, "summary": name, "arguments": arguments, "options": options}
            ],
            "domain": domain,
            "baselines": [{"kind": "reference", "name": "reference", "primary": True}],
        },
        Task,
        "small_tasks",
    )


EPS = {"name": "eps", "low": 1e-8, "high": 1e-3}
AXES = {"batch": {"low": 0, "high": 65536}, "width": {"high": 8192, "multiple_of": 8}}

RMS_NORM_TASK = task_of(
    "rms_norm",
    [
        _argument("x", "input", ["*batch", "width"]),
        _argument("w", "input", ["width"], like="x", optional=True, constant=True),
        _argument("y", "output", ["*batch", "width"], like="x"),
    ],
    [EPS],
    axes=AXES,
    layouts=["contiguous", "strided", "broadcast", "misaligned"],
    rank=[1, 3],
)

LAYER_NORM_TASK = task_of(
    "layer_norm",
    [
        _argument("x", "input", ["batch", "width"]),
        _argument("residual", "input", ["batch", "width"], like="x"),
        _argument("weight", "input", ["width"], like="x", constant=True),
        _argument("bias", "input", ["width"], like="x", constant=True),
        _argument("y", "output", ["batch", "width"], like="x"),
    ],
    [EPS],
    axes=AXES,
)

CLAMPED_GATE_TASK = task_of(
    "clamped_gate",
    [
        _argument("gate", "input", ["batch", "width"]),
        _argument("up", "input", ["batch", "width"], like="gate"),
        _argument("y", "output", ["batch", "width"], like="gate"),
    ],
    [{"name": "limit", "low": 0.5, "high": 7.0}],
    axes=AXES,
)


def row_of(
    function: Function, shapes: Mapping[str, tuple[int, ...]], dtype: DType, **options: Scalar
) -> Row:
    """A contiguous row; arguments without a shape are absent."""
    return Row(
        id="row",
        function=function.name,
        tensors={
            argument.name: TensorSpec(shape=shapes[argument.name], dtype=dtype)
            if argument.name in shapes
            else None
            for argument in function.arguments
        },
        options=dict(options),
    )


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
