"""What a budget buys: width of the interval, and how large a gain is found nine times in ten.

Runs on the fake device under the same made-up noise as `benchmarks.rules`, once with the short
batches that the fake device needs and once with the 40 ms batches that a GPU needs.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from assay.device.fake import DEFAULT_TRAITS
from assay.device.fake import FakeDevice
from assay.device.fake import Script
from assay.judge.sitting import Sitting
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.status import Status
from benchmarks.record import record
from tests.noise import SimulatedNoise

SECONDS = (2.0, 6.0, 20.0)
BATCHES = (0.010, 0.040)
GAINS = (0.01, 0.02, 0.03, 0.05)
CALL_SECONDS = 1e-4


def once(seconds: float, batch: float, gain: float, seed: int) -> tuple[str, float, int]:
    """Status, half width of the interval as a ratio, and generations used."""
    lane = DEFAULT_TRAITS[Lane.THROUGHPUT].model_copy(update={"batch_seconds": batch})
    device = FakeDevice(SimulatedNoise(seed), {Lane.THROUGHPUT: lane})
    candidate = Script({"row": CALL_SECONDS / (1 + gain)})
    order = random.Random(seed)
    sitting = Sitting(device, Script({"row": CALL_SECONDS}), candidate, DEFAULT_RULES, order=order)
    finding = sitting.run(["row"], [Lane.THROUGHPUT], Budget(row_seconds=seconds))[0].finding
    assert finding is not None
    measured = finding.measurement
    assert measured is not None
    half = math.log(measured.interval[1] / measured.interval[0]) / 2
    return finding.status.value, half, measured.generations


def study(seconds: float, batch: float, runs: int) -> dict[str, float]:
    """One row of the table."""
    found: dict[str, float] = {}
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        equal = pool.map(partial(once, seconds, batch, 0.0), range(runs), chunksize=10)
        for gain in GAINS:
            seeds = range(1_000_000, 1_000_000 + runs)
            results = pool.map(partial(once, seconds, batch, gain), seeds, chunksize=10)
            share = sum(status == Status.FASTER for status, _, _ in results) / runs
            found[f"faster at {gain:.0%}"] = share
    found["half width"] = statistics.median(half for _, half, _ in equal)
    found["generations"] = statistics.median(used for _, _, used in equal)
    wrong = sum(status in {Status.FASTER, Status.SLOWER} for status, _, _ in equal)
    found["A/A told apart"] = wrong / runs
    return found


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/precision.json"))
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    work = [(seconds, batch) for batch in BATCHES for seconds in SECONDS]
    rows = []
    for seconds, batch in track(work, description="budgets", console=Console(stderr=True)):
        rows.append({"seconds": seconds, "batch": batch, **study(seconds, batch, chosen.runs)})
    body = {"name": "precision", "runs": chosen.runs, "rows": rows}
    row_id = record(body)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({**body, "ledger_id": row_id}, indent=2) + "\n")
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.4g}" for value in row.values()))
    Console().print(table)
    print(f"ledger id {row_id}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
