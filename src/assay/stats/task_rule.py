"""The verdict on a task, from the verdicts on its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence

from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict
from assay.spec.verdict import Worst
from assay.stats.blocks import BlockTable
from assay.stats.geomean import call_weighted
from assay.stats.geomean import geomean_estimate
from assay.stats.geomean import time_weighted
from assay.stats.row_rule import no_difference
from assay.stats.row_rule import place

_ORDER = tuple(Status)


def judge_task(
    task: str,
    rows: Sequence[RowVerdict],
    tables: Mapping[str, BlockTable],
    rules: Rules,
    calls: Mapping[str, int | None],
    labels: Sequence[str] = (),
) -> TaskVerdict:
    """All rows as one verdict; `tables` holds the AB blocks of each timed throughput row.

    A row that is not right, or that broke a rule, decides alone: nothing is averaged over it.
    """
    failed = [verdict for verdict in rows if not verdict.status.is_timed]
    timed = [v for v in rows if v.lane is Lane.THROUGHPUT and v.measurement is not None]
    if failed:
        first = min(failed, key=lambda verdict: _ORDER.index(verdict.status))
        reason = f"row {first.row}: {first.reason or first.status}"
        return TaskVerdict(
            task=task, verdict=first.status, rows=tuple(rows), labels=tuple(labels), reason=reason
        )
    if not timed:
        reason = next((v.reason for v in rows if v.reason), "no row was timed")
        return TaskVerdict(
            task=task,
            verdict=Status.UNCLEAR,
            rows=tuple(rows),
            unclear=len(rows),
            labels=tuple(labels),
            reason=reason,
        )
    return _judge_timed(task, rows, timed, tables, rules, calls, labels)


def _judge_timed(
    task: str,
    rows: Sequence[RowVerdict],
    timed: Sequence[RowVerdict],
    tables: Mapping[str, BlockTable],
    rules: Rules,
    calls: Mapping[str, int | None],
    labels: Sequence[str],
) -> TaskVerdict:
    overall = geomean_estimate([tables[verdict.row] for verdict in timed], rules)
    interval = overall.interval(rules.alpha)
    margin = task_margin(timed)
    verdict = place(interval, margin)
    if verdict is Status.SAME and margin > math.log1p(rules.widest_same):
        verdict = Status.UNCLEAR
    if verdict is Status.UNCLEAR and no_difference(interval, _echoes(timed), rules):
        verdict = Status.SAME
    # A geomean over the rows that happened to be measured is not the task's.
    unmeasured = [v.row for v in rows if v.lane is Lane.THROUGHPUT and v.measurement is None]
    reason = f"row {unmeasured[0]} could not be measured" if unmeasured else None
    if all(row.status is Status.UNCLEAR for row in timed):
        reason = reason or "every row is unclear"
    if reason is not None:
        verdict = Status.UNCLEAR
    times = [(v.baseline_us or 0.0, v.candidate_us or 0.0) for v in timed]
    counted = [(a, b, calls.get(v.row)) for v, (a, b) in zip(timed, times, strict=True)]
    statuses = [row.status for row in rows if row.lane is Lane.THROUGHPUT]
    return TaskVerdict(
        task=task,
        verdict=verdict,
        geomean=math.exp(overall.centre),
        interval=(math.exp(interval[0]), math.exp(interval[1])),
        worst=worst_row(timed),
        rows=tuple(rows),
        wins=statuses.count(Status.FASTER),
        ties=statuses.count(Status.SAME),
        losses=statuses.count(Status.SLOWER),
        unclear=statuses.count(Status.UNCLEAR),
        call_weighted=call_weighted(counted),
        time_weighted=time_weighted(times),
        labels=tuple(labels),
        reason=reason,
    )


def task_margin(timed: Sequence[RowVerdict]) -> float:
    """The floor of the geomean: what each row's bias could add to the mean at most."""
    floors = [math.log1p(v.measurement.floor) for v in timed if v.measurement is not None]
    return math.fsum(floors) / len(floors)


def _echoes(timed: Sequence[RowVerdict]) -> list[float]:
    return [v.measurement.echo_ratio for v in timed if v.measurement is not None]


def worst_row(timed: Sequence[RowVerdict]) -> Worst:
    worst = min(timed, key=lambda verdict: verdict.ratio or math.inf)
    assert worst.ratio is not None
    return Worst(row=worst.row, lane=worst.lane, ratio=worst.ratio)
