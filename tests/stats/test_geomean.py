from __future__ import annotations

import math

import pytest

from assay.spec.rules import Rules
from assay.stats.geomean import call_weighted
from assay.stats.geomean import geomean
from assay.stats.geomean import geomean_estimate
from assay.stats.geomean import time_weighted
from assay.stats.interval import estimate
from tests.stats.samples import table_of

RULES = Rules(resamples=4000)


def test_the_geomean_of_a_win_and_its_inverse_is_one() -> None:
    assert geomean([4.0, 0.25]) == pytest.approx(1.0)


def test_the_centre_is_the_mean_log_ratio_over_rows() -> None:
    rows = [table_of([0.1], [0.1]), table_of([0.3], [0.3])]
    found = geomean_estimate(rows, RULES)
    assert found.centre == pytest.approx(0.2)
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)


def test_what_a_process_does_to_all_rows_does_not_average_out() -> None:
    # Ten rows that rise and fall together with the generation are no surer than one row.
    groups = [[0.01], [-0.01], [0.02], [-0.02], [0.0], [0.03]]
    one, _ = estimate(table_of(*groups), RULES.resamples, RULES.seed)
    ten = geomean_estimate([table_of(*groups)] * 10, RULES)
    assert ten.standard_error == pytest.approx(one.standard_error, rel=0.05)


def test_rows_whose_noise_is_their_own_do_average_out() -> None:
    up = [[0.01], [-0.01], [0.01], [-0.01], [0.01], [-0.01]]
    down = [[-0.01], [0.01], [-0.01], [0.01], [-0.01], [0.01]]
    both = geomean_estimate([table_of(*up), table_of(*down)], RULES)
    one, _ = estimate(table_of(*up), RULES.resamples, RULES.seed)
    assert both.standard_error < one.standard_error / 5


def test_a_row_that_was_settled_early_lends_its_small_number_of_generations() -> None:
    rows = [table_of(*[[0.1]] * 8), table_of(*[[0.1]] * 24)]
    assert geomean_estimate(rows, RULES).generations == 8


def test_many_small_rows_flatter_the_geomean_and_not_the_time() -> None:
    # Nine rows of 10 us at 2x, one row of 1 ms that did not change.
    pairs = [(10.0, 5.0)] * 9 + [(1000.0, 1000.0)]
    assert geomean([a / b for a, b in pairs]) == pytest.approx(2**0.9)
    assert time_weighted(pairs) == pytest.approx(1090 / 1045)


def test_call_weights_need_every_count() -> None:
    assert call_weighted([(10.0, 5.0, 3), (20.0, 20.0, None)]) is None
    assert call_weighted([(10.0, 5.0, 3), (20.0, 20.0, 1)]) == pytest.approx(50 / 35)
    assert call_weighted([(10.0, 5.0, 0)]) is None


def test_geomean_agrees_with_the_mean_of_logs() -> None:
    values = [1.1, 0.9, 3.0]
    assert geomean(values) == pytest.approx(math.exp(sum(map(math.log, values)) / 3))
