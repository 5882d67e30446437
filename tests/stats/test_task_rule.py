from __future__ import annotations

import pytest

from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict
from assay.stats.blocks import BlockTable
from assay.stats.task_rule import judge_task
from tests.stats.samples import table_of
from tests.stats.verdicts import timed
from tests.stats.verdicts import violation
from tests.stats.verdicts import wrong

RULES = Rules()


def table(log_ratio: float) -> BlockTable:
    return table_of(*[[log_ratio] * 3] * 8)


def judge(*rows: RowVerdict, **logs: float) -> TaskVerdict:
    tables = {name: table(value) for name, value in logs.items()}
    return judge_task("cpu/x", rows, tables, RULES, {"a": 10, "b": 1})


def test_two_wins_are_faster_with_geomean_worst_and_weights() -> None:
    verdict = judge(
        timed("a", Status.FASTER, 1.21, baseline_us=121.0),
        timed("b", Status.FASTER, 1.0, baseline_us=1000.0),
        a=0.2,
        b=0.1,
    )
    assert verdict.verdict is Status.FASTER
    # exp((0.2 + 0.1) / 2)
    assert verdict.geomean == pytest.approx(1.161834)
    assert verdict.worst is not None
    assert (verdict.worst.row, verdict.worst.ratio) == ("b", 1.0)
    assert verdict.time_weighted == pytest.approx(1121 / 1100)
    assert verdict.call_weighted == pytest.approx((1210 + 1000) / (1000 + 1000))
    assert (verdict.wins, verdict.ties, verdict.losses, verdict.unclear) == (2, 0, 0, 0)


def test_a_lost_row_is_counted_beside_a_win() -> None:
    verdict = judge(timed("a", Status.FASTER, 2.0), timed("b", Status.SLOWER, 0.9), a=0.69, b=-0.1)
    assert verdict.verdict is Status.FASTER
    assert (verdict.wins, verdict.losses) == (1, 1)


def test_one_wrong_row_decides_alone_and_there_is_no_geomean() -> None:
    verdict = judge(timed("a", Status.FASTER, 9.0), wrong("b"), a=2.2)
    assert verdict.verdict is Status.WRONG_VALUE
    assert verdict.geomean is None
    assert verdict.reason == "row b: 3 of 8 elements of y"


def test_the_earliest_kind_of_failure_is_the_one_named() -> None:
    crash = RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.CRASH, reason="signal 11")
    caught = violation("b", ViolationKind.EARLY_RING)
    assert judge(caught, crash).verdict is Status.CRASH


def test_unclear_rows_alone_are_unclear_even_if_the_geomean_is_not() -> None:
    assert judge(timed("a", Status.UNCLEAR, 1.5), a=0.4).verdict is Status.UNCLEAR


def test_the_floor_of_the_geomean_is_the_mean_floor_of_its_rows() -> None:
    # Row floors of 0.5 % and 5 %: a geomean of 2 % is inside, one of 3 % is beyond.
    rows = timed("a", Status.SAME, 1.0), timed("b", Status.FASTER, 1.0, floor=0.05)
    assert judge(*rows, a=0.02, b=0.02).verdict is Status.SAME
    assert judge(*rows, a=0.03, b=0.03).verdict is Status.FASTER


def test_only_the_throughput_lane_enters_the_geomean() -> None:
    verdict = judge(
        timed("a", Status.SAME, 1.0),
        timed("a", Status.FASTER, 3.0, lane=Lane.LATENCY),
        a=0.0,
    )
    assert verdict.geomean == pytest.approx(1.0)
    assert verdict.verdict is Status.SAME


def test_a_row_that_could_not_be_measured_leaves_the_task_unclear() -> None:
    lost = RowVerdict(row="b", lane=Lane.THROUGHPUT, status=Status.UNCLEAR, reason="disturbed")
    verdict = judge(timed("a", Status.FASTER, 2.0), lost, a=0.69)
    assert (verdict.verdict, verdict.reason) == (Status.UNCLEAR, "row b could not be measured")
    # The geomean of what was measured is still shown.
    assert verdict.geomean == pytest.approx(1.99, abs=0.01)


def test_a_task_without_rows_that_were_timed_says_why() -> None:
    row = RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.UNCLEAR, reason="interrupted")
    verdict = judge(row)
    assert (verdict.verdict, verdict.reason) == (Status.UNCLEAR, "interrupted")


def test_a_geomean_around_one_is_the_same_up_to_three_percent_in_a_steady_sitting() -> None:
    row = timed("a", Status.UNCLEAR, 1.0)
    other = timed("b", Status.SAME, 1.0)
    wavering = table_of(*([x] for x in (0.02, -0.02, 0.015, -0.015, 0.01, -0.01, 0.0, 0.0) * 3))
    tables = {"a": wavering, "b": wavering}

    def verdict(*rows: RowVerdict, rules: Rules = RULES) -> Status:
        return judge_task("cpu/x", rows, tables, rules, {}).verdict

    assert verdict(row, other) is Status.SAME
    assert verdict(row, other, rules=Rules(equivalence=0.005)) is Status.UNCLEAR
    assert other.measurement is not None
    restless = other.measurement.model_copy(update={"echo_ratio": 1.05})
    assert verdict(row, other.model_copy(update={"measurement": restless})) is Status.UNCLEAR
