"""A task folder of our own in KDA-Pilot's form, without anything that our export adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFIG = """\
[task]
slug = "cpu_scaled_add__multi_shape"
arch = "cpu"
target_gpu = "none"
family = "scaled_add"
entry_points = ["own.kernels:scaled_add"]

[build]
language = "triton"
destination_passing_style = true
baseline_entry_point = "baseline/binding.py::scaled_add_baseline"
candidate_entry_point = "solution/binding.py::scaled_add_candidate"

[benchmark]
num_trials = 7
"""

BASELINE = """\
from helper import scaled


def scaled_add_baseline(x, gate, out, eps):
    out.copy_(scaled(x, gate) + eps)
"""

HELPER = """\
def scaled(x, gate):
    return x if gate is None else x * gate
"""

CANDIDATE = """\
import torch


def scaled_add_candidate(out, eps, gate, x):
    if gate is None:
        torch.add(x, eps, out=out)
    else:
        torch.mul(x, gate, out=out).add_(eps)
"""

REFERENCE = """\
def scaled_add(x, gate, *, eps):
    return (x if gate is None else x * gate) + eps
"""


def rows() -> list[dict[str, Any]]:
    """One row in each of the three dialects."""
    common = {"function": "scaled_add", "eps": 0.5, "atol": 1e-5, "rtol": 1e-5}
    tables = {
        "x": {"shape": [1, 6, 8], "dtype": "float32", "stride": [48, 8, 1]},
        "gate": {"shape": [1, 1, 8], "dtype": "float32"},
        "out": {"shape": [1, 6, 8], "dtype": "float32"},
    }
    lists = {"x": [1, 3, 8], "gate": [1, 1, 8], "out": [1, 3, 8]}
    letters: dict[str, Any] = {
        "S": 5,
        "D": 8,
        "x": {"layout": "1SD", "dtype": "float32"},
        "gate": None,
        "out": {"layout": "1SD", "dtype": "float32"},
    }
    return [
        {"id": "t s6", "production": True, "preset": "qwen", "seed": 11, **common}
        | {"shapes": tables, "gate_mode": "bcast"},
        {"id": "l-s3", "production": False, "dtype": "float32", "shapes": lists, **common},
        {"id": "c-s5", "models": ["wan", "flux"], "shapes": letters, **common}
        | {"strides": "contiguous", "seed_component": 4},
    ]


def write_folder(folder: Path, workloads: list[dict[str, Any]] | None = None) -> Path:
    files = {
        "prompt.md": "# scaled add\n",
        "config.toml": CONFIG,
        "baseline/binding.py": BASELINE,
        "baseline/helper.py": HELPER,
        "solution/binding.py": CANDIDATE,
        "bench/reference.py": REFERENCE,
        "bench/workloads.json": json.dumps(rows() if workloads is None else workloads),
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
