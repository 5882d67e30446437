"""A sample of `make bench`: few enough comparisons for every run of the suite.

The bounds are what chance allows around the bars: with 60 comparisons, a rule at its bar of 10 %
unclear would show more than 12 in one run of a hundred.
"""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.rules import bars
from benchmarks.rules import ours
from benchmarks.rules import sequential_medians
from benchmarks.rules import shares


def outcomes(gain: float, runs: int, start: int) -> Counter[str]:
    return Counter(ours(gain, start + seed) for seed in range(runs))


def test_equal_programs_are_hardly_ever_told_apart() -> None:
    found = outcomes(0.0, 60, 5_000_000)
    assert found["faster"] + found["slower"] <= 2
    assert found["unclear"] <= 12


def test_a_gain_of_one_percent_is_nearly_always_found() -> None:
    found = outcomes(0.01, 60, 6_000_000)
    assert found["faster"] >= 48
    assert found["slower"] == 0


def test_a_loss_of_one_percent_is_never_called_a_gain() -> None:
    assert outcomes(-0.01, 30, 7_000_000)["faster"] == 0


def test_the_common_rule_calls_half_of_all_equal_programs_faster() -> None:
    found = Counter(sequential_medians(0.0, seed) for seed in range(60))
    assert 15 <= found["faster"] <= 45


@pytest.mark.long
def test_every_bar_is_held_over_two_thousand_comparisons() -> None:
    found = {str(gain): shares(ours, gain, 2000) for gain in (0.0, 0.01)}
    assert bars({"assay, default budget": found}) == {
        "A/A faster at most 1 %": True,
        "A/A slower at most 1 %": True,
        "A/A unclear at most 10 %": True,
        "true 1 % faster at least 90 %": True,
    }
