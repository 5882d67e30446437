from __future__ import annotations

import pytest
from scipy import stats

from assay.spec.rules import Rules
from assay.stats.interval import Estimate
from assay.stats.looks import chance_to_decide
from assay.stats.looks import look_alpha
from assay.stats.looks import look_schedule
from assay.stats.looks import spent

RULES = Rules()


def test_all_of_alpha_is_spent_at_the_end_and_little_at_first() -> None:
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    # 2 * (1 - Phi(1.959964 / sqrt(1/3))) = 2 * (1 - Phi(3.394757)) = 0.000687
    assert spent(1 / 3, 0.05) == pytest.approx(0.000687, abs=2e-6)


def test_the_shares_of_all_looks_add_up_to_alpha() -> None:
    schedule = (8, 16, 24)
    shares = [look_alpha(schedule, look, 0.05) for look in range(3)]
    assert sum(shares) == pytest.approx(0.05)
    assert shares == sorted(shares)


def test_a_single_look_may_use_all_of_alpha() -> None:
    assert look_alpha((5,), 0, 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("generations", "schedule"),
    [(24, (8, 16, 24)), (15, (5, 10, 15)), (14, (7, 14)), (10, (5, 10)), (9, (9,)), (5, (5,))],
)
def test_looks_are_even_and_never_before_the_sign_test_can_speak(
    generations: int, schedule: tuple[int, ...]
) -> None:
    assert look_schedule(RULES, generations) == schedule
    assert schedule[0] >= RULES.fewest_generations


def test_far_from_the_margin_the_last_look_will_decide() -> None:
    clear = Estimate(centre=0.05, standard_error=0.002, generations=8)
    assert chance_to_decide(clear, 24, 0.03, 0.005, 0.0) == pytest.approx(1.0, abs=1e-6)


def test_on_the_margin_itself_the_chance_is_what_the_wander_allows() -> None:
    on_it = Estimate(centre=0.005, standard_error=0.0004, generations=8)
    final = Estimate(0.005, 0.0004 / 3**0.5, 24)
    half = final.half_width(0.03)
    wander = (0.0004**2 - final.standard_error**2) ** 0.5
    # Above margin + half, or below margin - half: symmetric, and nothing else is near.
    assert chance_to_decide(on_it, 24, 0.03, 0.005, 0.0) == pytest.approx(
        2 * float(stats.norm.sf(half / wander)), rel=1e-6
    )


def test_an_interval_on_both_sides_of_one_counts_up_to_the_widest() -> None:
    wide = Estimate(centre=0.0, standard_error=0.01, generations=8)
    half = Estimate(0.0, 0.01 / 3**0.5, 24).half_width(0.03)
    wander = (0.01**2 - 0.01**2 / 3) ** 0.5
    assert 0.015 > half > 0.005
    # Outside: a centre beyond 0.005 + half either way. Inside: within the half width of 1.
    outside = 2 * float(stats.norm.sf((0.005 + half) / wander))
    inside = 1 - 2 * float(stats.norm.sf(half / wander))
    found = chance_to_decide(wide, 24, 0.03, 0.005, 0.03)
    assert found == pytest.approx(outside + inside, rel=1e-6)
    assert chance_to_decide(wide, 24, 0.03, 0.005, 0.0) == pytest.approx(outside, rel=1e-6)


def test_without_spread_the_last_look_says_what_this_one_says() -> None:
    assert chance_to_decide(Estimate(0.0, 0.0, 8), 24, 0.03, 0.005, 0.0) == 1.0
