from __future__ import annotations

import math

import pytest

from assay.spec.rules import Rules
from assay.spec.sample import Disturbance
from assay.spec.status import Status
from assay.stats.row_rule import look_at
from assay.stats.row_rule import place
from assay.stats.row_rule import replay
from tests.stats.samples import plan_of
from tests.stats.samples import row_samples

RULES = Rules()


@pytest.mark.parametrize(
    ("interval", "status"),
    [
        ((0.006, 0.02), Status.FASTER),
        ((-0.02, -0.006), Status.SLOWER),
        ((-0.004, 0.004), Status.SAME),
        ((0.004, 0.02), Status.UNCLEAR),
        ((-0.02, 0.02), Status.UNCLEAR),
        ((-0.02, 0.004), Status.UNCLEAR),
        # Exactly on the floor is not beyond it.
        ((0.005, 0.02), Status.UNCLEAR),
    ],
)
def test_an_interval_is_placed_against_the_floor(
    interval: tuple[float, float], status: Status
) -> None:
    assert place(interval, 0.005) is status


def test_a_clean_two_percent_gain_is_faster_with_its_numbers() -> None:
    finding = look_at(row_samples([1.02] * 5), RULES, plan_of(5), 0)
    assert finding.status is Status.FASTER
    assert finding.settled
    measured = finding.measurement
    assert measured is not None
    assert measured.ratio == pytest.approx(1.02)
    assert measured.floor == pytest.approx(0.005)
    assert measured.baseline_us == 1_000_000.0
    assert measured.candidate_us == pytest.approx(1_000_000 / 1.02)
    assert (measured.generations, measured.blocks, measured.dropped_blocks) == (5, 15, 0)
    assert measured.sign_test_p == 1 / 32
    assert measured.echo_ratio == 1.0


def test_the_inverse_is_slower() -> None:
    assert look_at(row_samples([1 / 1.02] * 5), RULES, plan_of(5), 0).status is Status.SLOWER


def test_a_gain_below_the_floor_is_the_same_however_sure() -> None:
    finding = look_at(row_samples([1.004] * 24), RULES, plan_of(24), 0)
    assert finding.status is Status.SAME
    assert finding.reason == "within 0.50% either way"


def test_generations_that_disagree_widen_the_interval_until_it_is_unclear() -> None:
    finding = look_at(row_samples([1.05, 0.97, 1.04, 0.98, 1.05]), RULES, plan_of(5), 0)
    assert finding.status is Status.UNCLEAR
    assert finding.reason == "the interval reaches over the floor"


def test_a_baseline_that_differs_from_itself_swallows_the_gain() -> None:
    # Every A/A block says 2.5 %: a gain of 2 % is not beyond what equal code shows.
    samples = row_samples([1.02] * 8, echo=[1.025] * 8)
    finding = look_at(samples, RULES, plan_of(8), 0)
    assert finding.measurement is not None
    assert finding.measurement.floor == pytest.approx(0.025)
    assert finding.status is Status.SAME


def test_a_sitting_above_three_percent_of_noise_calls_nothing_the_same() -> None:
    samples = row_samples([1.0] * 8, echo=[1.05] * 8)
    finding = look_at(samples, RULES, plan_of(8), 0)
    assert finding.status is Status.UNCLEAR
    assert finding.reason == "the sitting is too noisy: its floor is 5.0%"
    # The rule is what stops it: with a wider one the same samples are SAME.
    loose = Rules(widest_same=0.1)
    assert look_at(samples, loose, plan_of(8), 0).status is Status.SAME


def test_when_the_budget_is_spent_an_interval_around_one_is_the_same_up_to_three_percent() -> None:
    ratios = [1.02, 0.98, 1.015, 0.985, 1.01, 0.99, 1.0, 1.0] * 3
    samples = row_samples(ratios)
    early = look_at(samples, RULES, plan_of(24, 48, 72), 0)
    assert early.status is Status.UNCLEAR
    last = look_at(samples, RULES, plan_of(24), 0)
    assert last.status is Status.SAME
    assert last.measurement is not None
    low, high = last.measurement.interval
    assert low < 1 / 1.005
    assert last.reason == f"within {max(high, 1 / low) - 1:.2%} either way"
    # Wider than that, or beside 1, it is not.
    narrow = Rules(equivalence=0.005)
    assert look_at(samples, narrow, plan_of(24), 0).status is Status.UNCLEAR
    beside = look_at(row_samples([1.012 * ratio for ratio in ratios]), RULES, plan_of(24), 0)
    assert beside.status is Status.UNCLEAR


def test_the_sign_test_vetoes_an_interval_that_it_does_not_agree_with() -> None:
    # Blocks say faster in three generations of five (unequal block numbers), slower in two.
    samples = row_samples([1.05] * 5, blocks=1)
    strict = Rules(sign_alpha=0.03)
    finding = look_at(samples, strict, plan_of(5), 0)
    assert finding.status is Status.UNCLEAR
    assert finding.reason == "the sign test does not agree with the interval"
    assert look_at(samples, RULES, plan_of(5), 0).status is Status.FASTER


def test_too_many_disturbed_blocks_make_the_row_unclear() -> None:
    samples = row_samples([1.05] * 6)
    spoiled = [
        sample.model_copy(update={"disturbances": (Disturbance.THROTTLED,)})
        if sample.generation < 3
        else sample
        for sample in samples
    ]
    finding = look_at(spoiled, RULES, plan_of(6), 0)
    assert finding.status is Status.UNCLEAR
    assert finding.reason == "50% of the blocks were disturbed"


def test_fewer_disturbed_blocks_are_dropped_and_counted() -> None:
    samples = row_samples([1.05] * 6)
    spoiled = [
        sample.model_copy(update={"disturbances": (Disturbance.FOREIGN_WORK,), "nanoseconds": 9})
        if sample.generation == 0
        else sample
        for sample in samples
    ]
    finding = look_at(spoiled, RULES, plan_of(6), 0)
    assert finding.status is Status.FASTER
    assert finding.measurement is not None
    assert finding.measurement.dropped_blocks == 6
    assert finding.measurement.ratio == pytest.approx(1.05)


def test_nothing_measured_is_unclear() -> None:
    finding = look_at([], RULES, plan_of(5), 0)
    assert (finding.status, finding.measurement) == (Status.UNCLEAR, None)


def test_an_early_look_demands_more_than_the_last_one() -> None:
    # Half widths at 8 generations: the first look of three has an alpha of 0.0007, not 0.05.
    ratios = [
        math.exp(0.012 + d) for d in (0.004, -0.004, 0.003, -0.003, 0.002, -0.002, 0.004, -0.004)
    ]
    samples = row_samples(ratios)
    early = look_at(samples, RULES, plan_of(8, 16, 24), 0)
    late = look_at(samples, RULES, plan_of(8), 0)
    assert late.status is Status.FASTER
    assert early.status is Status.UNCLEAR
    assert not early.settled


def test_a_row_that_the_budget_cannot_decide_is_given_up_early() -> None:
    # Exactly on the floor with little spread: the last look would be no wiser.
    centre = math.log(1.005)
    ratios = [math.exp(centre + d) for d in (1e-4, -1e-4) * 8]
    finding = look_at(row_samples(ratios), RULES, plan_of(8, 16, 24), 1)
    assert finding.status is Status.UNCLEAR
    assert finding.settled
    assert finding.reason == "more of the budget would not decide it"
    # The rule is what stops it.
    patient = Rules(futility=0.0)
    assert not look_at(row_samples(ratios), patient, plan_of(8, 16, 24), 1).settled


def test_replay_gives_the_finding_of_the_look_that_settled_it() -> None:
    samples = row_samples([1.05] * 8)
    assert replay(samples, RULES, plan_of(8, 16, 24)) == look_at(
        samples, RULES, plan_of(8, 16, 24), 0
    )


def test_replay_refuses_samples_that_go_on_after_they_were_settled() -> None:
    with pytest.raises(ValueError, match="go on after look 1"):
        replay(row_samples([1.05] * 16), RULES, plan_of(8, 16, 24))


def test_replay_of_an_interrupted_row_has_reached_no_look() -> None:
    finding = replay(row_samples([1.05] * 3), RULES, plan_of(8, 16, 24))
    assert (finding.status, finding.settled) == (Status.UNCLEAR, False)
