"""Samples made by hand, for tests that know the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side
from assay.stats.blocks import BlockTable
from assay.stats.plan import Plan

A, E, B = Side.BASELINE, Side.ECHO, Side.CANDIDATE


def block_of(
    sides: Sequence[Side],
    nanoseconds: Sequence[int],
    *,
    generation: int = 0,
    block: int = 0,
    pair: Pair = Pair.AB,
) -> list[Sample]:
    return [
        Sample(
            generation=generation,
            block=block,
            position=position,
            pair=pair,
            side=side,
            launches=1,
            nanoseconds=time,
        )
        for position, (side, time) in enumerate(zip(sides, nanoseconds, strict=True))
    ]


def table_of(*groups: Sequence[float]) -> BlockTable:
    return BlockTable(tuple(np.array(group, dtype=float) for group in groups), 0)


def plan_of(*looks: int) -> Plan:
    """The plan that `row_samples` are samples of."""
    return Plan(
        generations=looks[-1],
        ab_blocks=3,
        aa_blocks=3,
        launches=1,
        warm_launches=0,
        looks=looks,
        resolution=1e-9,
        device_seconds=1.0,
    )


def row_samples(
    ratios: Sequence[float], *, blocks: int = 3, echo: Sequence[float] | None = None
) -> list[Sample]:
    """One generation per ratio, each with blocks of exactly that ratio, and A/A blocks beside."""
    samples = []
    for generation, ratio in enumerate(ratios):
        echo_ratio = echo[generation] if echo is not None else 1.0
        for number in range(blocks):
            fast = round(1_000_000_000 / ratio)
            samples += block_of(
                [A, B, B, A],
                [1_000_000_000, fast, fast, 1_000_000_000],
                generation=generation,
                block=2 * number,
            )
            again = round(1_000_000_000 / echo_ratio)
            samples += block_of(
                [A, E, E, A],
                [1_000_000_000, again, again, 1_000_000_000],
                generation=generation,
                block=2 * number + 1,
                pair=Pair.AA,
            )
    return samples
