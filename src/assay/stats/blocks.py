"""Blocks: four readings in the order ABBA or BAAB, and the one log ratio that they give.

The order cancels any drift that is linear over the block. A disturbed reading is taken again at its
position; a block in which one stayed disturbed is dropped whole. Both by a rule that looks at the
state of the device and never at how the ratio came out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side

Floats = NDArray[np.float64]


def is_disturbed(sample: Sample) -> bool:
    return bool(sample.disturbances) or sample.nanoseconds <= 0


def log_ratio(block: Sequence[Sample]) -> float | None:
    """Mean log time of the first side less that of the second, or None for a disturbed block.

    In an AB block the candidate is the second side, in an AA block the echo is, so that a
    positive value always means that the second side is faster.
    """
    if any(map(is_disturbed, block)):
        return None
    second = Side.CANDIDATE if block[0].pair is Pair.AB else Side.ECHO
    total = 0.0
    for sample in block:
        time = math.log(sample.nanoseconds / sample.launches)
        total += -time if sample.side is second else time
    return total / 2


def is_balanced(block: Sequence[Sample]) -> bool:
    """Whether four readings are one ABBA or BAAB of two different sides."""
    if len(block) != 4 or [sample.position for sample in block] != [0, 1, 2, 3]:
        return False
    sides = [sample.side for sample in block]
    return sides[0] == sides[3] != sides[1] == sides[2] and len({s.pair for s in block}) == 1


@dataclass(frozen=True)
class BlockTable:
    """Log ratios of one pair kind: an array per generation, in order."""

    groups: tuple[Floats, ...]
    dropped: int
    retaken: int = 0

    @property
    def generations(self) -> int:
        return len(self.groups)

    @property
    def blocks(self) -> int:
        return sum(len(group) for group in self.groups)

    @property
    def dropped_share(self) -> float:
        every = self.blocks + self.dropped
        return self.dropped / every if every else 0.0

    def medians(self) -> Floats:
        """One value per generation: what the sign test counts."""
        return np.array([np.median(group) for group in self.groups])

    def estimate(self) -> float:
        """The median of all per-block log ratios."""
        return float(np.median(np.concatenate(self.groups)))


def block_table(samples: Iterable[Sample], pair: Pair) -> BlockTable:
    """The blocks of one kind, grouped by generation; raises ValueError for a half block.

    A generation whose blocks were all dropped does not count as a generation.
    """
    groups: dict[int, list[float]] = {}
    dropped = retaken = 0
    chosen = (sample for sample in samples if sample.pair is pair)
    for (generation, number), run in groupby(chosen, key=lambda s: (s.generation, s.block)):
        taken = list(run)
        # The last reading of each position: those before it were disturbed.
        block = sorted({s.position: s for s in taken}.values(), key=lambda s: s.position)
        retaken += len(taken) - len(block)
        if not is_balanced(block):
            raise ValueError(f"generation {generation} block {number} is no ABBA or BAAB block")
        value = log_ratio(block)
        if value is None:
            dropped += 1
        else:
            groups.setdefault(generation, []).append(value)
    return BlockTable(tuple(np.array(values) for values in groups.values()), dropped, retaken)


def median_microseconds(samples: Iterable[Sample], side: Side) -> float | None:
    """Median time per launch of the undisturbed readings of one side in AB blocks."""
    sides = {Side.BASELINE, Side.ECHO} if side is Side.BASELINE else {side}
    times = [
        sample.nanoseconds / sample.launches / 1000
        for sample in samples
        if sample.pair is Pair.AB and sample.side in sides and not is_disturbed(sample)
    ]
    return float(np.median(times)) if times else None
