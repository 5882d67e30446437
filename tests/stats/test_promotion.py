from __future__ import annotations

from dataclasses import replace

from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict
from assay.stats.promotion import PromotionCase
from assay.stats.promotion import unmet
from tests.stats.verdicts import timed
from tests.stats.verdicts import wrong

RULES = Rules()
HASH = "ab" * 32


def verdict(*rows: RowVerdict, low: float = 1.10, status: Status = Status.FASTER) -> TaskVerdict:
    return TaskVerdict(task="cpu/x", verdict=status, geomean=1.2, interval=(low, 1.3), rows=rows)


GOOD = PromotionCase(
    verdict=verdict(timed("a", Status.FASTER, 1.2)),
    confirmation=verdict(timed("a", Status.FASTER, 1.2)),
    candidate_hash=HASH,
    verdict_hash=HASH,
    confirmation_hash=HASH,
    sanitizer_clean=True,
    profiled_before=True,
    profiled_after=True,
)


def test_a_candidate_that_meets_everything_is_promoted() -> None:
    assert unmet(GOOD, RULES) == ()


def test_each_condition_stops_promotion_by_itself() -> None:
    slower = timed("b", Status.SLOWER, 0.9)
    cases = {
        "row b is wrong_value": replace(
            GOOD, verdict=verdict(timed("a", Status.FASTER, 1.2), wrong("b"))
        ),
        "geomean's lower bound 1.0040 is not above 1.0050": replace(
            GOOD, verdict=verdict(timed("a", Status.FASTER, 1.2), low=1.004)
        ),
        "row b in lane throughput is lost: upper bound 0.9009": replace(
            GOOD, verdict=verdict(timed("a", Status.FASTER, 1.2), slower)
        ),
        "not measured again in fresh processes with new seeds": replace(
            GOOD, confirmation=None, confirmation_hash=None
        ),
        "the confirmation says same": replace(GOOD, confirmation=verdict(status=Status.SAME)),
        "the evidence is about other sources than the candidate's": replace(
            GOOD, verdict_hash="cd" * 32
        ),
        "no clean sanitizer run": replace(GOOD, sanitizer_clean=None),
        "the sanitizer found errors": replace(GOOD, sanitizer_clean=False),
        "no profile before and after": replace(GOOD, profiled_after=False),
    }
    for problem, case in cases.items():
        assert unmet(case, RULES) == (problem,)


def test_a_confirmation_of_other_sources_does_not_count() -> None:
    case = replace(GOOD, confirmation_hash="cd" * 32)
    assert unmet(case, RULES) == ("the evidence is about other sources than the candidate's",)


def test_a_lost_row_in_the_latency_lane_counts_and_one_in_the_events_lane_does_not() -> None:
    lost = timed("a", Status.SLOWER, 0.9, lane=Lane.LATENCY)
    explained = timed("a", Status.SLOWER, 0.9, lane=Lane.EVENTS)
    win = timed("a", Status.FASTER, 1.2)
    assert len(unmet(replace(GOOD, verdict=verdict(win, lost)), RULES)) == 1
    assert unmet(replace(GOOD, verdict=verdict(win, explained)), RULES) == ()


def test_a_row_whose_upper_bound_reaches_097_is_not_lost() -> None:
    edge = timed("b", Status.SLOWER, 0.9695, half=0.001)
    assert unmet(replace(GOOD, verdict=verdict(timed("a", Status.FASTER, 1.2), edge)), RULES) == ()
