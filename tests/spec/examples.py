"""A task that is right in every respect, to be spoilt one key at a time."""

from __future__ import annotations

from typing import Any

TASK: dict[str, Any] = {
    "schema": "assay.task.1",
    "name": "cpu/rms_norm",
    "summary": "y = x * rsqrt(mean(x^2) + eps) * w over the last axis",
    "functions": [
        {
            "name": "rms_norm",
            "summary": "root-mean-square norm of each row",
            "arguments": [
                {
                    "name": "x",
                    "role": "input",
                    "shape": ["*batch", "width"],
                    "dtypes": ["float32", "bfloat16"],
                },
                {"name": "w", "role": "input", "shape": ["width"], "like": "x", "optional": True},
                {"name": "y", "role": "output", "shape": ["*batch", "width"], "like": "x"},
            ],
            "options": [{"name": "eps", "low": 1e-8, "high": 1e-3}],
        }
    ],
    "domain": {
        "axes": {"batch": {"low": 0, "high": 65536}, "width": {"high": 8192, "multiple_of": 8}},
        "layouts": ["contiguous", "strided"],
        "rank": [1, 3],
    },
    "baselines": [
        {"kind": "local", "name": "naive", "primary": True, "path": "baselines/naive"},
        {"kind": "reference", "name": "reference"},
    ],
}

ROW: dict[str, Any] = {
    "id": "m4096_d128",
    "function": "rms_norm",
    "tensors": {
        "x": {"shape": [4096, 128], "dtype": "float32"},
        "w": None,
        "y": {"shape": [4096, 128], "dtype": "float32"},
    },
    "options": {"eps": 1e-6},
    "models": ["flux"],
    "calls": 57,
}

WORKLOADS: dict[str, Any] = {"schema": "assay.workloads.1", "rows": [ROW]}

SOLUTION: dict[str, Any] = {
    "schema": "assay.solution.1",
    "name": "vectorised",
    "language": "cpp",
    "sources": ["kernel.cpp", "lanes/row.h"],
    "entry": "kernel.cpp",
    "search": {"unroll": [1, 2, 4], "prefetch": [True, False]},
    "config": {"unroll": 4},
}
