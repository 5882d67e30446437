"""What the defences cost: the same judgement with all of them on, and with all of them off.

`python -m benchmarks.defences` judges each CPU task's win solution both ways in turns, the order
changing from round to round, and appends a row for each task to `evidence/ledger`. A task that the
ledger already has from this very harness and host, at this many rounds and blocks, is not run
again, so the work can be interrupted and taken up later.

A budget buys a plan by what a reading should take, and a judgement stops early when a look decides:
two budgeted judgements need not have done the same. Here the work is fixed instead: so many
generations and blocks for every row, one look at the end, no reading taken again. Both ways then
take the same readings, which is checked, and the ratio of their wall times is what a user pays. It
holds everything: the start of the sandbox, builds, the exam, the readings and the ledger. The work
is by default what the default rules plan until their first look, when a clear win is decided.

Off means off: the switches of `assay.spec.defences`, and timed calls that were kept are not
compared either, since that switch alone only ignores what the comparison finds. What stays both
ways is the last outputs, read when a batch rings: that is how its clock is stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console
from rich.table import Table

from assay.device.environment import harness_hash
from assay.device.environment import host_digest
from assay.device.runners import RunnerProcess
from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.defences import Defences
from assay.spec.errors import EvidenceError
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.task.judging import judge
from benchmarks.record import EVIDENCE
from benchmarks.record import record
from benchmarks.repeats import TASKS

NAME = "defences"
BAR = 1.3
DEFAULT_BLOCKS = DEFAULT_RULES.ab_blocks + DEFAULT_RULES.aa_blocks
FIRST_LOOK = DEFAULT_RULES.generations // DEFAULT_RULES.looks
NO_DEFENCES = Defences.without(DEFENCE_NAMES)
_AMPLE = Budget(row_seconds=3600.0)
"""So much that the rules alone, and no pilot, decide how many blocks there are."""


def fixed_rules(generations: int, blocks: int) -> Rules:
    """So many generations of so many blocks, whatever is seen in them."""
    echoes = max(1, blocks * DEFAULT_RULES.aa_blocks // DEFAULT_BLOCKS)
    return DEFAULT_RULES.model_copy(
        update={
            "generations": generations,
            "fewest_generations": min(generations, DEFAULT_RULES.fewest_generations),
            "ab_blocks": blocks - echoes,
            "aa_blocks": echoes,
            "looks": 1,
            "retakes": 0,
        }
    )


def _nothing_kept() -> AbstractContextManager[Any]:
    return mock.patch.object(RunnerProcess, "take_kept", return_value=[])


def once(task: str, rules: Rules, defences: Defences) -> dict[str, Any]:
    """One judgement: its wall time, the part before the first timed reading, and its readings."""
    begun = time.monotonic()
    timed_from: list[float] = []

    def note(progress: Progress) -> None:
        if not progress.label.startswith("checking "):
            timed_from.append(time.monotonic())

    off = contextlib.nullcontext() if defences == ALL_DEFENCES else _nothing_kept()
    with tempfile.TemporaryDirectory(prefix="assay-defences-") as folder, off:
        stored = judge(
            task,
            "win",
            ledger=Path(folder),
            budget=_AMPLE,
            rules=rules,
            report=note,
            defences=defences,
        )
    wall = time.monotonic() - begun
    judgement = stored.judgement
    if not timed_from:
        raise EvidenceError(f"not timed: {judgement.verdict.reason}", where=task)
    return {
        "verdict": judgement.verdict.verdict.value,
        "wall_seconds": round(wall, 3),
        "before_timing_seconds": round(timed_from[0] - begun, 3),
        "readings": sum(len(record.samples) for record in judgement.records),
        "checked_calls": judgement.checked_calls,
    }


def compared(task: str, rounds: int, rules: Rules) -> dict[str, Any]:
    """Both ways in turns, and the ratio of their wall times."""
    found: dict[str, list[dict[str, Any]]] = {"on": [], "off": []}
    for number in range(rounds):
        order = ("on", "off") if number % 2 == 0 else ("off", "on")
        for way in order:
            found[way].append(once(task, rules, ALL_DEFENCES if way == "on" else NO_DEFENCES))
    readings = {entry["readings"] for entries in found.values() for entry in entries}
    if len(readings) != 1:
        raise EvidenceError(f"unequal work: {sorted(readings)} readings", where=task)
    on, off = (_median(found[way], "wall_seconds") for way in ("on", "off"))
    return {
        "name": NAME,
        "task": task,
        "rounds": rounds,
        "generations": rules.generations,
        "blocks": rules.ab_blocks + rules.aa_blocks,
        "readings": readings.pop(),
        "off": list(NO_DEFENCES.off),
        "on_seconds": on,
        "off_seconds": off,
        "ratio": on / off,
        "bar": BAR,
        "results": found,
    }


def _median(entries: Iterable[dict[str, Any]], key: str) -> float:
    return float(statistics.median(entry[key] for entry in entries))


def known(rounds: int, rules: Rules) -> dict[str, dict[str, Any]]:
    """What this very harness has on record from this host for the same work, by task."""
    return {
        row.body["task"]: {**row.body, "ledger_id": row.id}
        for row in Ledger(EVIDENCE).rows("benchmark")
        if row.body.get("name") == NAME
        and row.body["harness"] == harness_hash()
        and f"-{host_digest()}-" in row.segment
        and row.body["rounds"] >= rounds
        and row.body["generations"] == rules.generations
        and row.body["blocks"] == rules.ab_blocks + rules.aa_blocks
    }


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--generations", type=int, default=FIRST_LOOK)
    parser.add_argument("--blocks", type=int, default=DEFAULT_BLOCKS, help="of a generation")
    parser.add_argument("--task", action="append", choices=TASKS)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    rules = fixed_rules(max(2, chosen.generations), max(2, chosen.blocks))
    done = known(chosen.rounds, rules)
    table = Table("task", "on", "off", "ratio", "readings", "ledger id")
    ratios = []
    try:
        for task in chosen.task or TASKS:
            if task not in done:
                body = compared(task, max(1, chosen.rounds), rules)
                done[task] = {**body, "ledger_id": record(body)}
            body = done[task]
            ratios.append(body["ratio"])
            cells = (f"{body['on_seconds']:.1f} s", f"{body['off_seconds']:.1f} s")
            figures = (f"{body['ratio']:.3f}", str(body["readings"]), body["ledger_id"])
            table.add_row(task, *cells, *figures)
            # No live bar: the thread that draws one shares the interpreter with the clock.
            print(f"{task}: {body['ratio']:.3f} of {cells[1]}, bar {BAR}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted with {len(ratios)} tasks on record; the same command goes on")
        return 130
    Console().print(table)
    return 0 if all(ratio <= BAR for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
