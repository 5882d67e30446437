from __future__ import annotations

import pytest

from assay.spec.errors import UsageError
from assay.spec.lane import LaneTraits
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import QUICK_BUDGET
from assay.spec.rules import Rules
from assay.stats.plan import plan_row

RULES = Rules()
THROUGHPUT = LaneTraits(batch_seconds=0.04, warm_launches=2, turn_seconds=0.001, resolution=1e-7)
LATENCY = LaneTraits(batch_seconds=0.0, warm_launches=10, turn_seconds=0.001, resolution=1e-7)


def test_the_default_budget_is_twenty_seconds_a_row_and_quick_is_a_minute_a_task() -> None:
    assert DEFAULT_BUDGET.per_row(rows=10, lanes=2) == 20.0
    assert QUICK_BUDGET.per_row(rows=10, lanes=2) == 3.0
    # A task of one row does not get more in quick than it would by default.
    assert QUICK_BUDGET.per_row(rows=1, lanes=1) == 20.0


def test_a_batch_is_as_many_launches_as_the_lane_needs() -> None:
    assert plan_row(1000, 80e-6, THROUGHPUT, RULES).launches == 500
    assert plan_row(1000, 0.1, THROUGHPUT, RULES).launches == 1
    assert plan_row(1000, 80e-6, LATENCY, RULES).launches == 1


def test_a_large_budget_buys_the_whole_plan_and_no_more() -> None:
    plan = plan_row(10_000, 80e-6, THROUGHPUT, RULES)
    assert (plan.generations, plan.ab_blocks, plan.aa_blocks) == (24, 12, 7)
    assert plan.looks == (8, 16, 24)
    # 24 generations x 19 blocks x 4 readings x (502 calls of 80 us + 1 ms)
    assert plan.device_seconds == pytest.approx(24 * 19 * 4 * (502 * 80e-6 + 0.001))


def test_twenty_seconds_of_forty_millisecond_batches_keep_all_generations() -> None:
    # 4 readings of 41.16 ms: 121 blocks, five for each of 24 generations.
    plan = plan_row(20, 80e-6, THROUGHPUT, RULES)
    assert (plan.generations, plan.ab_blocks, plan.aa_blocks) == (24, 4, 1)
    assert plan.device_seconds <= 20


def test_a_small_budget_gives_up_generations_last() -> None:
    # 12 blocks in all: six generations of one AB and one AA block.
    plan = plan_row(2.0, 80e-6, THROUGHPUT, RULES)
    assert (plan.generations, plan.ab_blocks, plan.aa_blocks) == (6, 1, 1)
    assert plan.looks == (6,)
    assert plan.device_seconds <= 2.0


def test_a_budget_that_can_decide_nothing_is_refused_with_the_least_that_can() -> None:
    # 10 blocks x 4 readings x (3 calls of 1 s + 1 ms) = 120.04 s
    with pytest.raises(UsageError, match=r"20 s buy 1 blocks \(a budget of 121 s is the least"):
        plan_row(20, 1.0, THROUGHPUT, RULES)


@pytest.mark.parametrize("seconds", [1.0, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("call", [2e-6, 1e-4, 5e-3])
def test_a_plan_never_costs_more_than_its_budget(seconds: float, call: float) -> None:
    for traits in (THROUGHPUT, LATENCY):
        try:
            plan = plan_row(seconds, call, traits, RULES)
        except UsageError:
            continue
        assert plan.device_seconds <= seconds


def test_what_each_call_can_hide_adds_up_over_a_batch() -> None:
    lane = LaneTraits(
        batch_seconds=0.004,
        warm_launches=3,
        turn_seconds=0.001,
        resolution=1e-6,
        hidden_seconds=15e-6,
    )
    plan = plan_row(20, 80e-6, lane, RULES)
    assert plan.launches == 50
    # Two resolutions are not to be trusted: 50 calls that hide 15 us each, and two ticks.
    assert RULES.absolute_ticks * plan.resolution == pytest.approx(50 * 15e-6 + 2e-6)


def test_where_the_host_does_not_pace_the_calls_batches_may_be_longer() -> None:
    traits = THROUGHPUT.model_copy(update={"device_batch_seconds": 0.1})
    assert plan_row(1000, 80e-6, traits, RULES).launches == 500
    plan = plan_row(1000, 80e-6, traits, RULES, host_paced=False)
    assert (plan.launches, plan.host_paced) == (1250, False)
    assert plan_row(1000, 80e-6, THROUGHPUT, RULES, host_paced=False).launches == 500
