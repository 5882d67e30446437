"""A new task: a small folder that loads and is right, to be edited into one's own."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import TypeAdapter
from pydantic import ValidationError

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import TaskName
from assay.task.files import write_new_folder
from assay.task.load import TaskFolder
from assay.task.load import load_task

_TASK = """\
schema = "assay.task.1"
name = "{name}"
summary = "y = x * sigmoid(x)"

# What every solution defines, under this name. Tensors come first, in this order; options follow.
[[functions]]
name = "{function}"
summary = "silu of each element"
arguments = [
    {{ name = "x", role = "input", shape = ["rows", "width"], dtypes = ["float32"] }},
    {{ name = "y", role = "output", shape = ["rows", "width"], like = "x" }},
]
# options = [{{ name = "eps", low = 1e-8, high = 1e-3 }}]

# All calls that a solution must be right for; hidden rows are drawn from here.
[domain]
layouts = ["contiguous"]
axes.rows = {{ low = 0, high = 4096 }}
axes.width = {{ low = 1, high = 4096 }}

# Exactly one baseline is primary: ratios are given against it.
[[baselines]]
kind = "local"
name = "naive"
primary = true
path = "baselines/naive"
"""

_WORKLOADS = """\
{{
  "schema": "assay.workloads.1",
  "rows": [
    {{
      "id": "m256_d1024",
      "function": "{function}",
      "tensors": {{
        "x": {{"shape": [256, 1024], "dtype": "float32"}},
        "y": {{"shape": [256, 1024], "dtype": "float32"}}
      }}
    }}
  ]
}}
"""

_REFERENCE = '''\
"""What is right: slow and obvious. Inputs come as float64 and the answer is returned."""

import torch


def {function}(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + torch.exp(-x))
'''

_SOLUTION = """\
schema = "assay.solution.1"
name = "{solution}"
language = "torch"
sources = ["{function}.py"]
entry = "{function}.py"
"""

_NAIVE = '''\
"""The baseline: one operator after the other, written to the output that is given."""

import torch


def {function}(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(x * torch.sigmoid(x))
'''

_CANDIDATE = '''\
"""A candidate: the fused operator."""

import torch


def {function}(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(torch.nn.functional.silu(x))
'''


def new_task(folder: Path, name: str) -> TaskFolder:
    """Write a task called `suite/name` into a new folder, and load it."""
    _check_name(name)
    function = re.sub(r"[^A-Za-z0-9_]", "_", name.rsplit("/", 1)[-1])
    if function[0].isdigit():
        function = f"f_{function}"
    templates = {
        "task.toml": _TASK,
        "workloads.json": _WORKLOADS,
        "reference.py": _REFERENCE,
        "baselines/naive/solution.toml": _SOLUTION,
        f"baselines/naive/{function}.py": _NAIVE,
        "solutions/candidate/solution.toml": _SOLUTION,
        f"solutions/candidate/{function}.py": _CANDIDATE,
    }
    files = {
        path: text.format(name=name, function=function, solution=path.split("/")[-2:][0])
        for path, text in templates.items()
    }
    write_new_folder(folder, files)
    return load_task(folder)


def _check_name(name: str) -> None:
    try:
        TypeAdapter(TaskName).validate_python(name)
    except ValidationError:
        raise UsageError(
            f"{quote(name)} is no name for a task",
            next_step="suite/name, of letters, digits, dots, dashes and underscores",
        ) from None
    if len(name.rsplit("/", 1)[-1]) > 50:
        raise UsageError(f"{quote(name)} is too long a name", next_step="at most 50 characters")
