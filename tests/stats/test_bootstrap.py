from __future__ import annotations

import numpy as np
import pytest

from assay.stats.bootstrap import draw_generations
from assay.stats.bootstrap import random_source
from assay.stats.bootstrap import replicates
from tests.stats.samples import table_of


def test_a_resample_of_chosen_generations_is_the_median_of_their_blocks() -> None:
    # Each generation holds one value, so drawing blocks within it changes nothing.
    table = table_of([1.0], [2.0], [10.0])
    chosen = np.array([[0, 0, 1], [2, 2, 0], [0, 1, 2]])
    drawn = replicates(table, chosen, random_source(0))
    assert list(drawn) == [1.0, 10.0, 2.0]


def test_blocks_are_resampled_within_the_chosen_generation_only() -> None:
    table = table_of([1.0, 2.0, 3.0], [100.0, 200.0, 300.0])
    drawn = replicates(table, np.zeros((500, 2), dtype=np.int64), random_source(1))
    assert set(np.unique(drawn)) <= {1.0, 1.5, 2.0, 2.5, 3.0}
    assert {1.0, 2.0, 3.0} <= set(np.unique(drawn))


def test_generations_of_different_length_each_draw_their_own_number_of_blocks() -> None:
    # One block of 0 against three of 7: pooled, the median is 7 whenever both are drawn.
    table = table_of([0.0], [7.0, 7.0, 7.0])
    drawn = replicates(table, np.array([[0, 1], [0, 0], [1, 1]]), random_source(2))
    assert list(drawn) == [7.0, 0.0, 7.0]


def test_generations_that_a_row_was_not_measured_in_add_nothing() -> None:
    table = table_of([1.0], [3.0])
    chosen = np.array([[0, 5, 7], [1, 1, 9], [6, 7, 8]])
    drawn = replicates(table, chosen, random_source(3))
    # The last resample drew none of this row's generations: its estimate stands in.
    assert list(drawn) == [1.0, 3.0, 2.0]


def test_the_spread_between_generations_is_kept_and_not_averaged_away_by_blocks() -> None:
    # Two hundred identical blocks in each of four generations: the blocks carry no information.
    values = (-0.03, -0.01, 0.01, 0.03)
    table = table_of(*[[value] * 200 for value in values])
    source = random_source(4)
    drawn = replicates(table, draw_generations(source, 4000, 4), source)
    # Median of 4 draws out of 4 values; its exact standard deviation, by enumeration.
    every = np.array(np.meshgrid(*[values] * 4)).reshape(4, -1)
    assert np.std(drawn) == pytest.approx(np.std(np.median(every, axis=0)), rel=0.05)


def test_the_same_seed_gives_the_same_draws_for_ever() -> None:
    # Frozen numbers: a change of the stream would change published intervals.
    assert draw_generations(random_source(20261115), 2, 5).tolist() == DRAWS


DRAWS = [[3, 1, 1, 4, 1], [3, 4, 4, 3, 0]]
