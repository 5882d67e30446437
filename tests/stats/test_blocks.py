from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from assay.spec.sample import Disturbance
from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side
from assay.stats.blocks import block_table
from assay.stats.blocks import is_balanced
from assay.stats.blocks import log_ratio
from assay.stats.blocks import median_microseconds
from tests.stats.samples import block_of

A, E, B = Side.BASELINE, Side.ECHO, Side.CANDIDATE


def test_the_log_ratio_of_abba_is_mean_log_baseline_less_mean_log_candidate() -> None:
    block = block_of([A, B, B, A], [400, 100, 200, 800])
    # (ln 400 + ln 800) / 2 - (ln 100 + ln 200) / 2 = ln(sqrt(320000) / sqrt(20000)) = ln 4
    assert log_ratio(block) == pytest.approx(math.log(4))


def test_baab_gives_the_same_log_ratio_as_abba() -> None:
    assert log_ratio(block_of([B, A, A, B], [100, 400, 800, 200])) == pytest.approx(math.log(4))


def test_a_drift_that_is_linear_in_log_time_cancels_exactly() -> None:
    drift = [math.exp(0.1 * k) for k in range(4)]
    times = [round(1_000_000_000 * d) for d in drift]
    assert log_ratio(block_of([A, B, B, A], times)) == pytest.approx(0.0, abs=1e-8)
    # In the order ABAB the same drift would pass for a slow-down of 10 %.
    logs = [math.log(time) for time in times]
    assert (logs[0] + logs[2] - logs[1] - logs[3]) / 2 == pytest.approx(-0.1)


def test_in_an_aa_block_the_echo_is_the_second_side() -> None:
    block = block_of([A, E, E, A], [200, 100, 100, 200], pair=Pair.AA)
    assert log_ratio(block) == pytest.approx(math.log(2))


def test_times_are_per_launch() -> None:
    block = [
        sample.model_copy(update={"launches": 4 if sample.side is B else 2})
        for sample in block_of([A, B, B, A], [200, 200, 200, 200])
    ]
    assert log_ratio(block) == pytest.approx(math.log(2))


@pytest.mark.parametrize("disturbance", list(Disturbance))
def test_one_disturbed_reading_drops_its_whole_block(disturbance: Disturbance) -> None:
    block = block_of([A, B, B, A], [100, 100, 100, 100])
    block[2] = block[2].model_copy(update={"disturbances": (disturbance,)})
    assert log_ratio(block) is None


@pytest.mark.parametrize("nonsense", [0, -5])
def test_a_time_that_is_not_positive_drops_its_block(nonsense: int) -> None:
    assert log_ratio(block_of([A, B, B, A], [100, nonsense, 100, 100])) is None


@pytest.mark.parametrize(
    "sides", [[A, B, A, B], [A, A, B, B], [A, A, A, A], [A, B, B], [A, B, B, E]]
)
def test_only_abba_and_baab_are_balanced(sides: Sequence[Side]) -> None:
    assert not is_balanced(block_of(sides, [1] * len(sides)))


def test_a_half_block_is_refused_not_averaged() -> None:
    samples = block_of([A, B, B, A], [1, 1, 1, 1])[:3]
    with pytest.raises(ValueError, match="generation 0 block 0 is no ABBA"):
        block_table(samples, Pair.AB)


def test_the_table_groups_by_generation_and_counts_what_it_dropped() -> None:
    samples: list[Sample] = []
    samples += block_of([A, B, B, A], [200, 100, 100, 200], generation=0, block=0)
    samples += block_of([B, A, A, B], [100, 400, 400, 100], generation=0, block=1)
    samples += block_of([A, B, B, A], [0, 100, 100, 200], generation=1, block=0)
    samples += block_of([A, B, B, A], [800, 100, 100, 800], generation=2, block=0)
    table = block_table(samples, Pair.AB)
    # Generation 1 had one block, which was dropped: it is no generation.
    assert [list(np.round(np.exp(group))) for group in table.groups] == [[2.0, 4.0], [8.0]]
    assert (table.generations, table.blocks, table.dropped) == (2, 3, 1)
    assert table.dropped_share == 0.25
    # The median of ln 2, ln 4, ln 8.
    assert table.estimate() == pytest.approx(math.log(4))
    # Per generation: the median of ln 2 and ln 4, and ln 8.
    assert list(table.medians()) == pytest.approx([math.log(math.sqrt(8)), math.log(8)])


def test_the_other_kind_of_block_is_left_out() -> None:
    samples = block_of([A, E, E, A], [1, 1, 1, 1], pair=Pair.AA)
    assert block_table(samples, Pair.AB).blocks == 0


def test_the_baseline_time_is_the_median_over_both_baseline_processes() -> None:
    samples = block_of([A, B, B, A], [1000, 50, 50, 3000], block=0)
    samples += block_of([E, B, B, E], [2000, 50, 50, 9000], block=1)
    assert median_microseconds(samples, A) == 2.5
    assert median_microseconds(samples, B) == 0.05
    assert median_microseconds([], B) is None
