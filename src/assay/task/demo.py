"""The demo: an honest win, an honest tie and a subtly wrong solution, judged for real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.judge.referee import Report
from assay.spec.rules import Budget
from assay.task.judging import Stored
from assay.task.judging import judge

TASK = "cpu/rms_norm"
CANDIDATES = ("win", "tie", "wrong")
# Device time for all rows of one candidate; three candidates are judged in under two minutes on
# two Neoverse-N1 cores.
BUDGET = Budget(task_seconds=12.0)


def demonstrate(ledger: Path, report: Report) -> Iterator[Stored]:
    """Judge each candidate in turn; the evidence goes into the ledger."""
    for name in CANDIDATES:
        yield judge(TASK, name, ledger=ledger, budget=BUDGET, report=report)
