"""How long a large ledger takes to verify and to query.

`python -m benchmarks.ledger` builds a ledger of 100,000 rows with 1,600 samples each in a temporary
folder, times both, prints the figures against their bars, and appends them to `evidence/ledger`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.ledger import Entry
from assay.ledger import Ledger
from assay.ledger import Samples
from assay.ledger import query
from assay.ledger import verify
from benchmarks.record import record

BARS = {"verify_seconds": 10.0, "query_seconds": 1.0}
SQL = """
SELECT task, lane, status, count(*) AS verdicts, exp(avg(ln(ratio))) AS geomean,
       min(low) AS worst, median(candidate_us) AS candidate_us
FROM verdicts GROUP BY ALL ORDER BY ALL
"""
BATCH = 1000
# Compressing takes 4 ms a row; sets that are used again keep the build short and change nothing for
# the reader, which hashes each copy.
SAMPLE_SETS = 64
REPEATS = 5


def samples(count: int, seed: int) -> Samples:
    """What one row of a task leaves: about 10 ms a batch, with two percent of noise."""
    noise = random.Random(seed)
    return Samples(
        columns={
            "process": [index * 8 // count for index in range(count)],
            "block": [index // 4 for index in range(count)],
            "position": [index % 4 for index in range(count)],
            "side": ["ABBA"[index % 4] for index in range(count)],
            "launches": [128] * count,
            "nanoseconds": [int(1e7 * noise.gauss(1.0, 0.02)) for _ in range(count)],
        }
    )


def verdict(number: int, noise: random.Random) -> dict[str, Any]:
    ratio = noise.lognormvariate(0.1, 0.2)
    return {
        "task": f"diffusion/task-{number % 40}",
        "row": f"row-{number % 500}",
        "lane": ("throughput", "latency", "graph")[number % 3],
        "status": "FASTER" if ratio > 1.02 else "SLOWER" if ratio < 0.98 else "SAME",
        "ratio": ratio,
        "interval": [ratio * 0.99, ratio * 1.01],
        "baseline_us": 81.2 * ratio,
        "candidate_us": 81.2,
        "twin_us": 60.3,
        "hashes": {name: f"{noise.getrandbits(256):064x}" for name in ("task", "candidate")},
    }


def build(ledger: Ledger, rows: int, count: int) -> None:
    noise = random.Random(0)
    sets = [samples(count, seed) for seed in range(SAMPLE_SETS)]
    with ledger.writer(environment()) as writer:
        for start in track(range(0, rows, BATCH), description="building", transient=True):
            writer.append_many(
                Entry.of("row-verdict", verdict(number, noise), sets[number % SAMPLE_SETS])
                for number in range(start, min(rows, start + BATCH))
            )


def seconds(function: Callable[[], object]) -> list[float]:
    """Every run's time; the first one has cold Python code, and all have a warm page cache."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(round(time.perf_counter() - start, 4))
    return times


def measure(rows: int, count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        ledger = Ledger(folder)
        build(ledger, rows, count)
        report = verify(ledger)
        assert report.ok
        assert report.samples == rows
        verify_times = seconds(lambda: verify(ledger))
        query_times = seconds(lambda: query([ledger], SQL))
        sizes = {
            suffix: sum(path.stat().st_size for path in Path(folder).glob(f"*.{suffix}"))
            for suffix in ("jsonl", "gz")
        }
    return {
        "rows": rows,
        "samples_per_row": count,
        "segments": report.segments,
        "row_bytes": sizes["jsonl"],
        "sample_bytes": sizes["gz"],
        "verify_seconds": max(verify_times),
        "query_seconds": max(query_times),
        "verify_runs": verify_times,
        "query_runs": query_times,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=1600, help="samples on each row")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/ledger.json"))
    chosen = parser.parse_args()
    figures = measure(chosen.rows, chosen.samples)
    met = all(figures[name] <= bar for name, bar in BARS.items())
    body = {"name": "ledger", "figures": figures, "bars": BARS, "met": met}
    row = record(body)
    provenance = {
        "ledger_id": row,
        "harness": harness_hash(),
        "environment": environment().content(),
    }
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(body | provenance, indent=2) + "\n")
    table = Table("what", "slowest, s", "bar, s", box=None, pad_edge=False)
    for name, bar in BARS.items():
        table.add_row(name.removesuffix("_seconds"), f"{figures[name]:.3f}", f"{bar:g}")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"{figures['rows']} rows, {figures['sample_bytes'] / 1e6:.0f} MB of samples, "
        f"{figures['segments']} segments; ledger id {row}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
