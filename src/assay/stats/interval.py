"""Estimate: a centre with an interval, from blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from assay.stats.blocks import BlockTable
from assay.stats.blocks import Floats
from assay.stats.bootstrap import draw_generations
from assay.stats.bootstrap import random_source
from assay.stats.bootstrap import replicates


@dataclass(frozen=True)
class Estimate:
    """A log ratio with the spread of its resamples."""

    centre: float
    standard_error: float
    generations: int

    def half_width(self, alpha: float) -> float:
        """Half the two-sided interval of level 1 - alpha.

        Student's t with one degree of freedom less than there are generations, and the factor
        n/(n-1) by which resampling n things understates their variance: percentiles of the
        resamples alone are too narrow for the 5 to 24 generations that a budget buys.
        """
        n = self.generations
        quantile = float(stats.t.ppf(1 - alpha / 2, n - 1))
        return quantile * math.sqrt(n / (n - 1)) * self.standard_error

    def interval(self, alpha: float) -> tuple[float, float]:
        half = self.half_width(alpha)
        return self.centre - half, self.centre + half


def estimate(table: BlockTable, resamples: int, seed: int) -> tuple[Estimate, Floats]:
    """The estimate of one table, and its resamples for whoever needs a quantile of them."""
    if table.generations < 2:
        raise ValueError("an interval needs blocks from at least two generations")
    source = random_source(seed)
    chosen = draw_generations(source, resamples, table.generations)
    drawn = replicates(table, chosen, source)
    spread = float(np.std(drawn, ddof=1))
    return Estimate(table.estimate(), spread, table.generations), drawn
