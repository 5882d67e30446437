"""What the judge does on a GPU, measured there and put on record.

`python -m benchmarks.cuda PART …` runs the named parts (all of them without a name) and appends a
row for each to `evidence/ledger`. Every part prints what it found, so a run that is cut off has
not been for nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from benchmarks.cuda.attacks import early_ring
from benchmarks.cuda.attacks import flush
from benchmarks.cuda.attacks import left_out
from benchmarks.cuda.costs import overhead
from benchmarks.cuda.costs import read_back
from benchmarks.cuda.costs import spoiling
from benchmarks.cuda.costs import twins
from benchmarks.cuda.noise import against_itself
from benchmarks.cuda.noise import series
from benchmarks.cuda.noise import slower
from benchmarks.cuda.noise import small_against_itself
from benchmarks.cuda.noise import small_latency
from benchmarks.record import record

PARTS: dict[str, tuple[Callable[[float], dict[str, Any]], float]] = {
    "overhead": (overhead, 0.0),
    "read-back": (read_back, 0.0),
    "twins": (twins, 0.0),
    "series": (series, 0.0),
    "flush": (flush, 0.0),
    "spoiling": (spoiling, 0.0),
    "left-out": (left_out, 6.0),
    "slower": (slower, 16.0),
    "early-ring": (early_ring, 10.0),
    "against-itself": (against_itself, 51.0),
    "small-against-itself": (small_against_itself, 36.0),
    "small-latency": (small_latency, 20.0),
}


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--seconds", type=float)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    for name in chosen.part or PARTS:
        work, seconds = PARTS[name]
        print(f"== {name}", flush=True)
        begun = time.monotonic()
        body = work(chosen.seconds or seconds)
        row = record({"name": f"cuda-{name}", "seconds": time.monotonic() - begun, **body})
        print(f"== {name}: {time.monotonic() - begun:.1f} s  ledger id {row}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
