"""The floor: differences below it are never called differences."""

from __future__ import annotations

import math

import numpy as np

from assay.spec.rules import Rules
from assay.stats.blocks import Floats


def relative_clause(rules: Rules) -> float:
    return math.log1p(rules.relative_floor)


def absolute_clause(rules: Rules, resolution: float, batch_seconds: float) -> float:
    """Log ratio of a batch that is longer by the ticks that a clock cannot be trusted with."""
    return math.log1p(rules.absolute_ticks * resolution / batch_seconds)


def echo_clause(rules: Rules, echo_replicates: Floats) -> float:
    """How far apart the sitting put the baseline from itself, at the rule's quantile."""
    return float(np.quantile(np.abs(echo_replicates), rules.floor_quantile))


def floor(rules: Rules, echo_replicates: Floats, resolution: float, batch_seconds: float) -> float:
    """The largest of the three clauses, as a log ratio."""
    return max(
        relative_clause(rules),
        absolute_clause(rules, resolution, batch_seconds),
        echo_clause(rules, echo_replicates),
    )
