"""The two-level bootstrap: generations of processes first, then blocks within them.

The process decides more than the block does (allocation addresses, core, clocks at start), so more
blocks in one process shrink the wrong variance; resampling generations first keeps it in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.stats.blocks import BlockTable
from assay.stats.blocks import Floats

Indices = NDArray[np.int64]


def random_source(seed: int) -> np.random.RandomState:
    # RandomState's stream is frozen by numpy's own promise; Generator's may change between
    # releases, and an interval must come out the same years later.
    return np.random.RandomState(seed)


def draw_generations(source: np.random.RandomState, draws: int, generations: int) -> Indices:
    return source.randint(0, generations, size=(draws, generations))


def replicates(table: BlockTable, chosen: Indices, source: np.random.RandomState) -> Floats:
    """Median log ratio of each resample; `chosen` names the generations of each.

    An index beyond the table's generations stands for one that this row was not measured in: the
    row was decided earlier. It adds nothing to the resample.
    """
    lengths = np.array([len(group) for group in table.groups])
    width = int(lengths.max())
    padded = np.full((len(lengths) + 1, width), np.nan)
    for index, group in enumerate(table.groups):
        padded[index, : len(group)] = group
    lengths = np.append(lengths, 0)
    generation = np.minimum(chosen, len(table.groups))
    length = lengths[generation][:, :, None]
    block = (source.random_sample((*chosen.shape, width)) * length).astype(np.int64)
    values = padded[generation[:, :, None], block]
    values[np.broadcast_to(np.arange(width) >= length, values.shape)] = np.nan
    medians = _row_medians(values.reshape(len(chosen), -1))
    # A resample that drew none of this row's generations says nothing; the estimate stands in.
    return np.where(np.isnan(medians), table.estimate(), medians)


def _row_medians(values: Floats) -> Floats:
    """Median of each row over its numbers; several times faster than nanmedian on short rows."""
    ordered = np.sort(values, axis=1)  # NaN sorts last
    count = np.count_nonzero(~np.isnan(values), axis=1)
    row = np.arange(len(values))
    last = values.shape[1] - 1
    lower = ordered[row, np.maximum(count - 1, 0) // 2]
    upper = ordered[row, np.minimum(count // 2, last)]
    return np.asarray(np.where(count == 0, np.nan, (lower + upper) / 2), dtype=np.float64)
