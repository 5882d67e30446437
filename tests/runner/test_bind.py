"""What a Python solution is handed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from assay.runner.machine import BytesMemory
from assay.runner.solution import PythonSolution

SOURCE = "seen = []\n\n\ndef f(x, q, y):\n    seen.append((x, q, y))\n"


def argument(name: str, role: str, start: int, dtype: str) -> dict[str, Any]:
    size = 4 * getattr(torch, dtype).itemsize
    tensor = {"shape": [2, 2], "strides": [2, 1], "offset": 0, "dtype": dtype}
    return {
        "name": name,
        "role": role,
        "constant": False,
        "tensor": {**tensor, "storage_bytes": size},
        "starts": [start],
    }


def test_what_is_written_has_a_storage_of_its_own_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(SOURCE)
    request = {
        "interpret": False,
        "entry": "kernel.py",
        "config": {},
        "convention": "destination",
        "prepare": None,
    }
    solution = PythonSolution(request, tmp_path)
    flat = torch.zeros(256, dtype=torch.uint8)
    row = {
        "function": "f",
        "slots": 1,
        "options": {},
        "arguments": [
            argument("x", "input", 0, "float32"),
            argument("q", "inout", 64, "bfloat16"),
            argument("y", "output", 128, "float32"),
        ],
    }
    (call,) = solution.bind(row, BytesMemory(flat), ())
    call()
    ((x, q, y),) = solution._module.seen
    assert [t.data_ptr() - flat.data_ptr() for t in (x, q, y)] == [0, 64, 128]
    assert (q.untyped_storage().nbytes(), y.untyped_storage().nbytes()) == (8, 16)
    assert x.untyped_storage().nbytes() == 256
    y.fill_(1.0)
    assert flat[128:144].view(torch.float32).tolist() == [1.0] * 4
