"""Distribution: the kinds of input that every solution is checked with."""

from __future__ import annotations

import enum


class Distribution(enum.StrEnum):
    NORMAL = "normal"
    """Standard normal; also what timed batches hold."""
    WIDE = "wide"
    """Magnitudes spread over many powers of two."""
    OFFSET = "offset"
    """A large mean with a small spread: one-pass variances cancel here."""
    OUTLIERS = "outliers"
    """Mostly normal, one element in a thousand a thousand times as large."""
    TINY_VARIANCE = "tiny_variance"
    """Variance near a usual eps, where a wrong eps shows."""
    SPIKE_FIRST = "spike_first"
    """One huge value at the first index of the last axis."""
    SPIKE_LAST = "spike_last"
    """The same at the last index: an off-by-one at the end misses it."""
    SPIKE_EDGE = "spike_edge"
    """The same at every power-of-two edge: where tails of vector loops begin."""
    ZEROS = "zeros"
    ONES = "ones"
    TIES = "ties"
    """Few distinct values, many of them equal."""
    DENORMAL = "denormal"
    """Values below the smallest normal number of the dtype."""
