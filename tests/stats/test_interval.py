from __future__ import annotations

import math

import pytest

from assay.stats.interval import Estimate
from assay.stats.interval import estimate
from tests.stats.samples import table_of


def test_half_width_is_t_times_the_small_sample_factor_times_the_error() -> None:
    # t(0.975, 4 degrees) = 2.776445, sqrt(5/4) = 1.118034
    half = Estimate(centre=0.0, standard_error=0.01, generations=5).half_width(0.05)
    assert half == pytest.approx(0.01 * 2.776445 * 1.118034, rel=1e-6)


def test_the_interval_is_symmetric_about_the_centre() -> None:
    low, high = Estimate(0.2, 0.01, 24).interval(0.05)
    assert (low + high) / 2 == pytest.approx(0.2)
    # t(0.975, 23 degrees) = 2.068658
    assert high - 0.2 == pytest.approx(0.01 * 2.068658 * math.sqrt(24 / 23), rel=1e-6)


def test_a_smaller_alpha_never_narrows() -> None:
    guess = Estimate(0.0, 0.01, 8)
    assert guess.half_width(0.0005) > guess.half_width(0.005) > guess.half_width(0.05)


def test_one_generation_has_no_interval() -> None:
    with pytest.raises(ValueError, match="two generations"):
        estimate(table_of([0.1, 0.2]), 100, 0)


def test_equal_blocks_have_no_spread() -> None:
    found, drawn = estimate(table_of([0.5] * 3, [0.5] * 3, [0.5] * 3), 200, 0)
    assert found == Estimate(0.5, 0.0, 3)
    assert set(drawn) == {0.5}
