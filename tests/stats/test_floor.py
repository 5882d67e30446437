from __future__ import annotations

import math

import numpy as np
import pytest

from assay.spec.rules import Rules
from assay.stats.floor import absolute_clause
from assay.stats.floor import echo_clause
from assay.stats.floor import floor

RULES = Rules()


def test_a_quiet_sitting_with_a_fine_clock_has_the_relative_floor() -> None:
    assert floor(RULES, np.zeros(100), 1e-9, 1.0) == pytest.approx(math.log(1.005))


def test_two_ticks_of_a_coarse_clock_are_the_floor_of_a_short_batch() -> None:
    # 2 ticks of 1 us on a batch of 50 us are 4 %.
    assert absolute_clause(RULES, 1e-6, 50e-6) == pytest.approx(math.log(1.04))
    assert floor(RULES, np.zeros(100), 1e-6, 50e-6) == pytest.approx(math.log(1.04))


def test_a_sitting_that_tells_the_baseline_from_itself_raises_the_floor() -> None:
    # 40 resamples: the 97.5 % quantile of |x| over 1..40 hundredths of a percent.
    echo = np.array([(-1) ** k * k * 1e-3 for k in range(1, 41)])
    assert echo_clause(RULES, echo) == pytest.approx(np.quantile(np.arange(1, 41), 0.975) * 1e-3)
    assert floor(RULES, echo, 1e-9, 1.0) == pytest.approx(0.039025)
