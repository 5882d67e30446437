from __future__ import annotations

import numpy as np
import pytest

from assay.stats.sign import majority_sign
from assay.stats.sign import sign_test


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([1, 1, 1, 1, 1], 1 / 32),
        ([-1, -1, -1, -1, -1], 1 / 32),
        ([1, 1, 1, 1, -1], 6 / 32),
        ([1, -1], 3 / 4),
        ([0, 0], 1.0),
        ([], 1.0),
        ([0, 1, 1, 1], 1 / 8),
    ],
)
def test_p_counts_the_ways_to_get_such_a_majority(values: list[float], p: float) -> None:
    assert sign_test(np.array(values, dtype=float)) == pytest.approx(p)


@pytest.mark.parametrize(
    ("values", "sign"), [([2, 3, -1], 1), ([-2, -3, 1], -1), ([1, -5], 0), ([], 0)]
)
def test_the_majority_counts_heads_not_sizes(values: list[float], sign: int) -> None:
    assert majority_sign(np.array(values, dtype=float)) == sign
