"""The plain evaluator: what an attack is first tried on, to see that it works at all.

    python -m assay.redteam.plain FOLDER_OF_SOLUTION [--device cpu|cuda] [--seconds S]

It is written as such programs usually are and defends itself against nothing. Everything is in one
process: the expected outputs, the candidate, the clock and the result. Inputs are made once, from
a seed that anybody can read, and are the same in every call; the first output is compared.

The last line is `RESULT {"ok": …, "candidate_us": …, "baseline_us": …, "speedup": …}`, and
result.json in the current folder holds the same.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from assay.redteam.plain_load import load

SEED = 0
WARM = 3
TIMED = 20
TOLERANCE = 1e-2
VICTIMS = Path(__file__).parent / "victim"

INPUTS: dict[str, dict[str, Any]] = {}
"""By row: x, w, y and eps; made once."""
EXPECTED: dict[str, torch.Tensor] = {}
"""By row: what the reference says."""

Call = Callable[[], object]


def make_inputs(row: dict[str, Any], device: str) -> dict[str, Any]:
    """Normal numbers from the seed, and a weight of ones, as that of a new module is."""
    tensors = row["tensors"]
    generator = torch.Generator().manual_seed(SEED)
    return {
        "x": torch.randn(tensors["x"]["shape"], generator=generator).to(device),
        "w": torch.ones(tensors["w"]["shape"], device=device),
        "y": torch.zeros(tensors["y"]["shape"], device=device),
        **row["options"],
    }


def reference(victim: Path) -> Callable[..., torch.Tensor]:
    spec = importlib.util.spec_from_file_location("reference", victim / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    found: Callable[..., torch.Tensor] = module.rms_norm
    return found


def check(call: Call, row: str) -> bool:
    """Whether the output of one call is about what is expected."""
    returned = call()
    got = returned if isinstance(returned, torch.Tensor) else INPUTS[row]["y"]
    expected = EXPECTED[row]
    return torch.allclose(got.to(expected.dtype), expected, rtol=TOLERANCE, atol=TOLERANCE)


def timed(call: Call, device: str) -> float:
    """The median of some calls, in microseconds."""
    for _ in range(WARM):
        call()
    return statistics.median(_once(call, device) for _ in range(TIMED))


def _once(call: Call, device: str) -> float:
    if device == "cpu":
        begun = time.perf_counter()
        call()
        return (time.perf_counter() - begun) * 1e6
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def evaluate(folder: Path, device: str) -> dict[str, Any]:
    """The candidate first, then the baseline, on the same tensors."""
    victim = VICTIMS / device
    rows = json.loads((victim / "workloads.json").read_text())["rows"]
    truth = reference(victim)
    for row in rows:
        made = make_inputs(row, device)
        INPUTS[row["id"]] = made
        EXPECTED[row["id"]] = truth(made["x"], made["w"], eps=made["eps"])
    candidate = load(folder, device)
    ok, candidate_us = True, 0.0
    for row in rows:
        call = candidate.bind(INPUTS[row["id"]])
        ok = check(call, row["id"]) and ok
        candidate_us += timed(call, device)
    baseline = load(victim / "baselines" / "naive", device)
    baseline_us = sum(timed(baseline.bind(INPUTS[row["id"]]), device) for row in rows)
    return {
        "ok": ok,
        "candidate_us": candidate_us,
        "baseline_us": baseline_us,
        "speedup": baseline_us / candidate_us,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m assay.redteam.plain")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    signal.alarm(given.seconds)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    # What Triton compiles for an attack stays out of the user's own cache.
    os.environ["TRITON_CACHE_DIR"] = str(Path("triton").resolve())
    result = evaluate(given.folder, given.device)
    line = json.dumps(result)
    Path("result.json").write_text(line)
    print(f"RESULT {line}")


if __name__ == "__main__":
    main()
