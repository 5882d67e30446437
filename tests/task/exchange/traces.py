"""A small trace set of our own in FlashInfer-Bench's form."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

REFERENCE = """\
import torch


@torch.no_grad()
def run(hidden_states, eps, weight):
    batch_size, hidden_size = hidden_states.shape
    assert hidden_size == 48
    x = hidden_states.to(torch.float32)
    scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    return ((x * scale) * weight.to(torch.float32)).to(hidden_states.dtype)
"""

RETURNS = """\
import torch


def run(hidden_states, eps, weight):
    x = hidden_states.float()
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.float()
    return {"output": y.to(hidden_states.dtype)}
"""

WRITES = """\
from helper import scale


def go(x, eps, w, out):
    out.copy_(x.float() * scale(x, eps) * w.float())
"""

TRITON = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, width: tl.constexpr, block: tl.constexpr):
    at = tl.arange(0, block)
    values = tl.load(x + tl.program_id(0) * width + at, mask=at < width, other=0.0)
    tl.store(y + tl.program_id(0) * width + at, values * values + 1.0, mask=at < width)


def run(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], 16)
    return y
"""

HELPER = """\
import torch


def scale(x, eps):
    return torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
"""


def definition(**changes: Any) -> dict[str, Any]:
    content = {
        "name": "rmsnorm_h48",
        "op_type": "rmsnorm",
        "description": "Each row by its root mean square.",
        "tags": ["status:verified"],
        "axes": {
            "batch_size": {"type": "var", "description": "rows"},
            "hidden_size": {"type": "const", "value": 48},
        },
        "inputs": {
            "hidden_states": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"},
            "eps": {"shape": None, "dtype": "float32"},
            "weight": {"shape": ["hidden_size"], "dtype": "bfloat16"},
        },
        "outputs": {"output": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"}},
        "reference": REFERENCE,
    }
    return {**content, **changes}


def workload(uuid: str, axes: dict[str, int], **inputs: Any) -> dict[str, Any]:
    given = {
        "hidden_states": {"type": "random"},
        "weight": {"type": "random"},
        "eps": {"type": "scalar", "value": 1e-6},
    }
    return {"axes": axes, "inputs": {**given, **inputs}, "uuid": uuid}


def solution(name: str, spec: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "definition": "rmsnorm_h48",
        "author": "us",
        "spec": {"target_hardware": ["NVIDIA_H200"], **spec},
        "sources": [{"path": path, "content": text} for path, text in sources.items()],
    }


def write_set(
    root: Path,
    what: dict[str, Any],
    workloads: list[dict[str, Any]],
    solutions: list[dict[str, Any]] | None = None,
) -> Path:
    """The definition's file, with all else around it where a trace set has it."""
    path = root / "definitions" / "op" / f"{what['name']}.json"
    lines = [
        {"definition": what["name"], "workload": w, "solution": None, "evaluation": None}
        for w in workloads
    ]
    for file, text in (
        (path, json.dumps(what)),
        (
            root / "workloads" / "op" / f"{what['name']}.jsonl",
            "".join(json.dumps(line) + "\n" for line in lines),
        ),
        *(
            (root / "solutions" / "us" / f"{s['name']}.json", json.dumps(s))
            for s in solutions or []
        ),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def write_stored(path: Path, key: str, values: list[int]) -> None:
    """A safetensors file with one int32 tensor."""
    data = struct.pack(f"<{len(values)}i", *values)
    entry = {"dtype": "I32", "shape": [len(values)], "data_offsets": [0, len(data)]}
    header = json.dumps({key: entry}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
