from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from assay.runner.once import ExactMemory
from assay.runner.once import placed
from assay.runner.tensors import first_element

SPEC: dict[str, Any] = {
    "shape": [2, 3],
    "strides": [4, 1],
    "offset": 1,
    "dtype": "float32",
    "storage_bytes": 32,
}
# Writes down what it is given instead of computing anything.
RECORDER = """
import json, pathlib, sys
def twice(x, w, y, *, bias):
    seen = {name: [t.data_ptr(), t.untyped_storage().nbytes(), t.flatten().tolist()]
            for name, t in (("x", x), ("w", w), ("y", y))}
    with pathlib.Path(sys.argv[1]).with_name("seen").open("a") as file:
        file.write(json.dumps({**seen, "bias": bias}) + "\\n")
    print("a solution may print what it likes")
"""


def argument(name: str, role: str, *, constant: bool = False, **spec: Any) -> dict[str, Any]:
    tensor = {**SPEC, **spec}
    return {"name": name, "role": role, "constant": constant, "tensor": tensor, "starts": [0, 0]}


def row() -> dict[str, Any]:
    arguments = [
        argument("x", "input"),
        argument("w", "input", constant=True),
        argument("y", "output", shape=[2], strides=[1], offset=0, storage_bytes=8),
    ]
    return {
        "function": "twice",
        "slots": 2,
        "options": {"bias": 0.5},
        "numbers": [0.5],
        "arguments": arguments,
    }


def run(folder: Path, source: str) -> tuple[subprocess.CompletedProcess[bytes], Any]:
    (folder / "x").write_bytes(torch.arange(8.0).numpy().tobytes())
    load = {
        "language": "torch",
        "entry": "kernel.py",
        "files": {"kernel.py": source.encode().hex()},
        "cache": {},
        "times": {},
        "environment": {},
        "cache_place": "{cache}",
        "gradients": False,
        "config": {},
        "convention": "destination",
        "prepare": None,
        "interpret": False,
    }
    rows = [{"request": row(), "contents": {"x": "x", "w": "x"}}]
    job = {"device": "cpu", "load": load, "rows": rows, "outcome": "outcome.json"}
    (folder / "job.json").write_text(json.dumps(job))
    ended = subprocess.run(
        [sys.executable, "-m", "assay.runner.once", str(folder / "job.json")],
        capture_output=True,
        check=False,
    )
    outcome = folder / "outcome.json"
    return ended, json.loads(outcome.read_text()) if outcome.exists() else None


def test_every_tensor_is_an_allocation_of_exactly_its_size(tmp_path: Path) -> None:
    ended, outcome = run(tmp_path, RECORDER)
    assert (ended.returncode, outcome) == (0, {"calls": 2})
    assert ended.stdout + ended.stderr == b""
    first, second = map(json.loads, (tmp_path / "seen").read_text().splitlines())
    assert [first[name][1] for name in ("x", "w", "y")] == [32, 32, 8]
    # From the second element of the storage on, rows of three that are four apart.
    assert first["x"][2] == second["x"][2] == [1.0, 2.0, 3.0, 5.0, 6.0, 7.0]
    assert first["bias"] == 0.5
    # Every call has tensors of its own; a constant is one for all of them.
    assert first["x"][0] != second["x"][0]
    assert first["y"][0] != second["y"][0]
    assert first["w"][0] == second["w"][0]


def test_a_solution_that_raises_is_quoted_and_fails(tmp_path: Path) -> None:
    ended, outcome = run(tmp_path, "def twice(x, w, y, *, bias):\n    raise KeyError('no luck')\n")
    assert ended.returncode == 1
    assert outcome == {"failed": "KeyError: 'no luck'"}


def test_a_solution_that_leaves_early_leaves_no_outcome(tmp_path: Path) -> None:
    ended, outcome = run(tmp_path, "import os\nos._exit(0)\n")
    assert (ended.returncode, outcome) == (0, None)


def test_an_address_leads_to_the_same_element_as_the_tensor() -> None:
    memory = ExactMemory("cpu")
    request = placed(row(), {}, memory)
    for given in request["arguments"]:
        for start in given["starts"]:
            # How a native solution is told where a tensor's first element is.
            address = memory.address + first_element(given["tensor"], start)
            assert address == memory.tensor(given["tensor"], start).data_ptr()


def test_an_empty_or_absent_tensor_needs_no_memory() -> None:
    memory = ExactMemory("cpu")
    empty = {**SPEC, "shape": [0, 3], "offset": 0, "storage_bytes": 0}
    assert memory.tensor(empty, memory.allocate(empty, b"")).shape == (0, 3)
    absent = {**row(), "arguments": [{**argument("x", "input"), "tensor": None}]}
    assert placed(absent, {}, memory)["arguments"][0]["starts"] == []
