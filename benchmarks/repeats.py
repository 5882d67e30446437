"""Does the judge say the same thing twice? Every shipped verdict, again and again.

`python -m benchmarks.repeats` judges each CPU task's win, tie and wrong solution, and its baseline
against itself, so many times, counts the verdicts and appends them to `evidence/ledger`, a row for
each pair. A pair that the ledger already has at this many repeats is not run again, so the work can
be interrupted and taken up later.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.device.environment import harness_hash
from assay.ledger import Ledger
from assay.spec.rules import Budget
from assay.spec.status import Status
from assay.task import load_task
from assay.task.judging import judge
from benchmarks.record import EVIDENCE
from benchmarks.record import record

TASKS = (
    "cpu/rms_norm",
    "cpu/rotary_embedding",
    "cpu/layer_norm_scale_shift",
    "cpu/group_norm_silu",
)
EXPECTED = {
    "wrong": Status.WRONG_VALUE,
    "win": Status.FASTER,
    "tie": Status.SAME,
    "baseline": Status.SAME,
}


def once(task: str, candidate: str, seconds: float, ledger: Path) -> dict[str, Any]:
    """One judgement: its verdict, geomean, interval and wall time."""
    begun = time.monotonic()
    name = (
        str(load_task(task).path / "baselines" / "naive") if candidate == "baseline" else candidate
    )
    stored = judge(task, name, ledger=ledger, budget=Budget(task_seconds=seconds))
    verdict = stored.judgement.verdict
    return {
        "verdict": verdict.verdict.value,
        "geomean": verdict.geomean,
        "interval": list(verdict.interval) if verdict.interval else None,
        "undecided": {row.row: row.reason for row in verdict.rows if row.status is Status.UNCLEAR},
        "wall_seconds": round(time.monotonic() - begun, 1),
    }


def repeated(task: str, candidate: str, runs: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="assay-repeats-") as folder:
        found = [once(task, candidate, seconds, Path(folder)) for _ in range(runs)]
    expected = EXPECTED[candidate]
    counted = Counter(entry["verdict"] for entry in found)
    return {
        "name": "repeats",
        "task": task,
        "candidate": candidate,
        "runs": runs,
        "budget_seconds": seconds,
        "expected": expected.value,
        "verdicts": dict(counted),
        "told_apart": counted[Status.FASTER.value] + counted[Status.SLOWER.value],
        "holds_one": sum(_holds_one(entry["interval"]) for entry in found),
        "results": found,
    }


def _holds_one(interval: list[float] | None) -> bool:
    return interval is not None and interval[0] <= 1 <= interval[1]


def known(runs: int) -> set[tuple[str, str]]:
    """Pairs that this very harness has already repeated so often."""
    ledger = Ledger(EVIDENCE)
    return {
        (row.body["task"], row.body["candidate"])
        for row in ledger.rows("benchmark")
        if row.body.get("name") == "repeats"
        and row.body["runs"] >= runs
        and row.body["harness"] == harness_hash()
    }


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--budget", type=float, default=24.0)
    parser.add_argument("--task", action="append", choices=TASKS)
    parser.add_argument("--candidate", action="append", choices=list(EXPECTED))
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    done = known(chosen.runs)
    work = [
        (task, candidate)
        for candidate in chosen.candidate or EXPECTED
        for task in chosen.task or TASKS
        if (task, candidate) not in done
    ]
    table = Table("task", "candidate", "expected", "verdicts", "seconds each", "ledger id")
    # No live bar: the thread that draws one shares the interpreter with the referee's clock.
    for task, candidate in work:
        body = repeated(task, candidate, chosen.runs, chosen.budget)
        seconds = sum(entry["wall_seconds"] for entry in body["results"]) / chosen.runs
        row = record(body)
        shown = ", ".join(f"{count} {name}" for name, count in body["verdicts"].items())
        table.add_row(task, candidate, body["expected"], shown, f"{seconds:.1f}", row)
        print(f"{task} {candidate}: {shown}  {seconds:.1f} s each  ledger id {row}", flush=True)
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
