"""All rows together: geomean with its interval, and the weighted ratios beside it.

An equal-weight geomean over many small rows flatters work on the host path; the ratio weighted by
time says what a run of these calls would gain, and both are always given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.spec.rules import Rules
from assay.stats.blocks import BlockTable
from assay.stats.bootstrap import draw_generations
from assay.stats.bootstrap import random_source
from assay.stats.bootstrap import replicates
from assay.stats.interval import Estimate


def geomean(ratios: Sequence[float]) -> float:
    """
    >>> geomean([2.0, 8.0])
    4.0
    """
    return math.exp(math.fsum(math.log(ratio) for ratio in ratios) / len(ratios))


def geomean_estimate(tables: Sequence[BlockTable], rules: Rules) -> Estimate:
    """The mean log ratio over rows, with the error of measuring it.

    Rows share the processes they were timed in, so a resample draws generations once for all
    rows: what a process does to every row does not average out over rows.
    """
    generations = max(table.generations for table in tables)
    source = random_source(rules.seed)
    chosen = draw_generations(source, rules.resamples, generations)
    drawn = np.mean([replicates(table, chosen, source) for table in tables], axis=0)
    centre = math.fsum(table.estimate() for table in tables) / len(tables)
    fewest = min(table.generations for table in tables)
    return Estimate(centre, float(np.std(drawn, ddof=1)), fewest)


def time_weighted(pairs: Sequence[tuple[float, float]]) -> float:
    """Total baseline time over total candidate time, for (baseline, candidate) per row.

    >>> time_weighted([(10.0, 5.0), (90.0, 95.0)])
    1.0
    """
    return math.fsum(a for a, _ in pairs) / math.fsum(b for _, b in pairs)


def call_weighted(rows: Sequence[tuple[float, float, int | None]]) -> float | None:
    """The same with each row counted as often as it is called; None if any count is unknown.

    >>> call_weighted([(10.0, 5.0, 9), (90.0, 95.0, 1)])
    1.2857142857142858
    """
    total_baseline = total_candidate = 0.0
    for baseline, candidate, calls in rows:
        if calls is None:
            return None
        total_baseline += calls * baseline
        total_candidate += calls * candidate
    return total_baseline / total_candidate if total_candidate else None
