"""How often each rule is right and wrong, on the same made-up noise.

Ours runs whole: sitting, planner, looks, floor, on the fake device. The peers' rules are what
their evaluators do with the same kind of readings. `python -m benchmarks.rules` prints the table.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from assay.device.fake import FakeDevice
from assay.device.fake import Script
from assay.judge.sitting import Sitting
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import DEFAULT_RULES
from benchmarks.record import record
from tests.noise import SimulatedNoise

CALL_SECONDS = 1e-4
GAINS = (0.0, 0.005, 0.01, 0.02)


def ours(gain: float, seed: int) -> str:
    """The whole judge on one row with the default budget."""
    device = FakeDevice(SimulatedNoise(seed))
    baseline = Script({"row": CALL_SECONDS})
    candidate = Script({"row": CALL_SECONDS / (1 + gain)})
    sitting = Sitting(device, baseline, candidate, DEFAULT_RULES, order=random.Random(seed))
    finding = sitting.run(["row"], [Lane.THROUGHPUT], DEFAULT_BUDGET)[0].finding
    assert finding is not None
    return finding.status.value


class Bench:
    """Readings as a peer takes them: one process per side, times in the order asked for."""

    def __init__(self, gain: float, seed: int) -> None:
        self._device = FakeDevice(SimulatedNoise(seed))
        self._a = self._device.start(Script({"row": CALL_SECONDS}))
        self._b = self._device.start(Script({"row": CALL_SECONDS / (1 + gain)}))

    def a(self) -> float:
        return math.log(self._a.time("row", Lane.THROUGHPUT, 100, 1).nanoseconds)

    def b(self) -> float:
        return math.log(self._b.time("row", Lane.THROUGHPUT, 100, 1).nanoseconds)

    def another_b(self, gain: float) -> None:
        self._b = self._device.start(Script({"row": CALL_SECONDS / (1 + gain)}))


def _called(difference: float, threshold: float = 0.0) -> str:
    if difference > threshold:
        return "faster"
    return "slower" if difference < -threshold else "same"


def sequential_medians(gain: float, seed: int) -> str:
    """All of A, then all of B, the lower median wins; what most evaluators do."""
    bench = Bench(gain, seed)
    first = statistics.median(bench.a() for _ in range(100))
    second = statistics.median(bench.b() for _ in range(100))
    return _called(first - second)


def sequential_t_test(gain: float, seed: int) -> str:
    """The same readings with Student's t at 5 %."""
    bench = Bench(gain, seed)
    first = [bench.a() for _ in range(100)]
    second = [bench.b() for _ in range(100)]
    test = stats.ttest_ind(first, second)
    return _called(float(np.mean(first) - np.mean(second))) if test.pvalue < 0.05 else "same"


def peeked_t_test(gain: float, seed: int) -> str:
    """Interleaved pairs with a t-test every 5 pairs up to 100, stopping at the first 5 %."""
    bench = Bench(gain, seed)
    differences: list[float] = []
    for _ in range(20):
        differences += [bench.a() - bench.b() for _ in range(5)]
        if stats.ttest_1samp(differences, 0.0).pvalue < 0.05:
            return _called(float(np.mean(differences)))
    return "same"


def best_of_five(gain: float, seed: int) -> str:
    """Five equal candidates against a remembered incumbent; the best one is reported."""
    bench = Bench(gain, seed)
    incumbent = statistics.median(bench.a() for _ in range(40))
    best = math.inf
    for _ in range(5):
        bench.another_b(gain)
        best = min(best, statistics.median(bench.b() for _ in range(40)))
    return _called(incumbent - best)


def abba_any_gain(gain: float, seed: int) -> str:
    """Two ABBA pairs and any gain at all."""
    bench = Bench(gain, seed)
    total = 0.0
    for _ in range(2):
        a1, b1, b2, a2 = bench.a(), bench.b(), bench.b(), bench.a()
        total += a1 + a2 - b1 - b2
    return _called(total)


def mean_until_steady(gain: float, seed: int) -> str:
    """Runs until the standard error is below 0.1 % or 200 are done, then the lower mean."""
    bench = Bench(gain, seed)
    return _called(_until_steady(bench.a) - _until_steady(bench.b))


def _until_steady(read: Callable[[], float]) -> float:
    times: list[float] = []
    while len(times) < 200:
        times.append(math.exp(read()))
        if len(times) > 2:
            error = statistics.stdev(times) / math.sqrt(len(times)) / statistics.mean(times)
            if error < 0.001:
                break
    return math.log(statistics.mean(times))


RULES: dict[str, Callable[[float, int], str]] = {
    "assay, default budget": ours,
    "sequential blocks, lower median": sequential_medians,
    "sequential blocks, t-test 5 %": sequential_t_test,
    "interleaved, t-test peeked every 5 pairs": peeked_t_test,
    "best of 5 against a stored incumbent": best_of_five,
    "ABBA, 2 pairs, any gain": abba_any_gain,
    "mean at 0.1 % standard error": mean_until_steady,
}


def shares(rule: Callable[[float, int], str], gain: float, runs: int) -> dict[str, float]:
    seeds = range(runs)
    # Seeds of different gains never meet, so columns are independent.
    call = partial(_with_offset, rule, gain, 1_000_000 * GAINS.index(gain))
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        counted = Counter(pool.imap_unordered(call, seeds, chunksize=20))
    return {name: counted[name] / runs for name in ("faster", "slower", "same", "unclear")}


def _with_offset(rule: Callable[[float, int], str], gain: float, offset: int, seed: int) -> str:
    return rule(gain, offset + seed)


def table(results: dict[str, dict[str, dict[str, float]]]) -> Table:
    shown = Table(title="share of runs that each rule calls FASTER (and SLOWER)")
    shown.add_column("rule")
    for gain in GAINS:
        shown.add_column("A/A" if gain == 0 else f"true {gain:.1%}", justify="right")
    shown.add_column("A/A unclear", justify="right")
    for name, columns in results.items():
        cells = [f"{c['faster']:.3f} ({c['slower']:.3f})" for c in columns.values()]
        shown.add_row(name, *cells, f"{columns['0.0']['unclear']:.3f}")
    return shown


def bars(results: dict[str, dict[str, dict[str, float]]]) -> dict[str, bool]:
    mine = results["assay, default budget"]
    equal, gain = mine["0.0"], mine["0.01"]
    return {
        "A/A faster at most 1 %": equal["faster"] <= 0.01,
        "A/A slower at most 1 %": equal["slower"] <= 0.01,
        "A/A unclear at most 10 %": equal["unclear"] <= 0.10,
        "true 1 % faster at least 90 %": gain["faster"] >= 0.90,
    }


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/rules.json"))
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    results: dict[str, dict[str, dict[str, float]]] = {}
    work = [(name, gain) for name in RULES for gain in GAINS]
    for name, gain in track(work, description="comparing rules", console=Console(stderr=True)):
        results.setdefault(name, {})[str(gain)] = shares(RULES[name], gain, chosen.runs)
    met = bars(results)
    body = {"name": "rules", "runs": chosen.runs, "results": results, "bars": met}
    row = record(body)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({**body, "ledger_id": row}, indent=2) + "\n")
    console = Console()
    console.print(table(results))
    for bar, held in met.items():
        console.print(f"{'held  ' if held else 'MISSED'}  {bar}")
    console.print(f"ledger id {row}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
