"""The verdict on one row in one lane, from its samples and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from assay.spec.rules import Rules
from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side
from assay.spec.status import Status
from assay.spec.verdict import Measurement
from assay.stats.blocks import BlockTable
from assay.stats.blocks import block_table
from assay.stats.blocks import median_microseconds
from assay.stats.floor import floor
from assay.stats.interval import Estimate
from assay.stats.interval import estimate
from assay.stats.looks import chance_to_decide
from assay.stats.looks import look_alpha
from assay.stats.plan import Plan
from assay.stats.sign import majority_sign
from assay.stats.sign import sign_test


@dataclass(frozen=True)
class Finding:
    """What a look at the samples says. `settled` means that more samples are not wanted."""

    status: Status
    settled: bool
    reason: str
    measurement: Measurement | None = None


def place(interval: tuple[float, float], margin: float) -> Status:
    """Where an interval of log ratios lies relative to plus and minus the floor."""
    low, high = interval
    if low > margin:
        return Status.FASTER
    if high < -margin:
        return Status.SLOWER
    if -margin < low and high < margin:
        return Status.SAME
    return Status.UNCLEAR


def no_difference(interval: tuple[float, float], echoes: Iterable[float], rules: Rules) -> bool:
    """Whether an interval of log ratios holds 1 and excludes all that matters, in a sitting whose
    baseline was by as little from itself: its echo ratios."""
    low, high = interval
    widest = math.log1p(rules.equivalence)
    steady = all(abs(math.log(echo)) < widest for echo in echoes)
    return steady and -widest < low <= 0 <= high < widest


def look_at(samples: Sequence[Sample], rules: Rules, plan: Plan, look: int) -> Finding:
    """The finding of one look of the plan, over the samples that are in by then."""
    ab = block_table(samples, Pair.AB)
    aa = block_table(samples, Pair.AA)
    schedule = plan.looks
    last = look == len(schedule) - 1
    problem = _too_little(ab, aa, rules)
    if problem is not None:
        return Finding(Status.UNCLEAR, last, problem)
    alpha = look_alpha(schedule, look, rules.alpha)
    measured, now = _measure(samples, ab, aa, rules, alpha, plan.resolution, look)
    margin = math.log1p(measured.floor)
    status, reason = _decide(now, alpha, margin, ab, rules)
    interval = now.interval(alpha)
    nothing_seen = last and no_difference(interval, [measured.echo_ratio], rules)
    if status is Status.UNCLEAR and nothing_seen:
        status, reason = Status.SAME, _within(max(map(abs, interval)))
    settled = last or status is not Status.UNCLEAR
    if not settled:
        last_alpha = look_alpha(schedule, len(schedule) - 1, rules.alpha)
        widest = math.log1p(rules.equivalence)
        chance = chance_to_decide(now, schedule[-1], last_alpha, margin, widest)
        if chance < rules.futility:
            settled, reason = True, "more of the budget would not decide it"
    return Finding(status, settled, reason, measured)


def _too_little(ab: BlockTable, aa: BlockTable, rules: Rules) -> str | None:
    share = max(ab.dropped_share, aa.dropped_share)
    if share > rules.most_dropped:
        return f"{share:.0%} of the blocks were disturbed"
    if min(ab.generations, aa.generations) < 2:
        return "fewer than two undisturbed generations"
    return None


def _measure(
    samples: Sequence[Sample],
    ab: BlockTable,
    aa: BlockTable,
    rules: Rules,
    alpha: float,
    resolution: float,
    look: int,
) -> tuple[Measurement, Estimate]:
    now, _ = estimate(ab, rules.resamples, rules.seed)
    echo, echo_replicates = estimate(aa, rules.resamples, rules.seed)
    baseline_us = median_microseconds(samples, Side.BASELINE)
    candidate_us = median_microseconds(samples, Side.CANDIDATE)
    assert baseline_us is not None
    assert candidate_us is not None
    batch = min(baseline_us, candidate_us) * 1e-6 * min(s.launches for s in samples)
    low, high = now.interval(alpha)
    measurement = Measurement(
        ratio=math.exp(now.centre),
        interval=(math.exp(low), math.exp(high)),
        floor=math.expm1(floor(rules, echo_replicates, resolution, batch)),
        baseline_us=baseline_us,
        candidate_us=candidate_us,
        generations=ab.generations,
        blocks=ab.blocks,
        dropped_blocks=ab.dropped + aa.dropped,
        retaken=ab.retaken + aa.retaken,
        looks=look + 1,
        sign_test_p=sign_test(ab.medians()),
        echo_ratio=math.exp(echo.centre),
    )
    return measurement, now


def _decide(
    now: Estimate, alpha: float, margin: float, ab: BlockTable, rules: Rules
) -> tuple[Status, str]:
    status = place(now.interval(alpha), margin)
    if status is Status.UNCLEAR:
        return status, "the interval reaches over the floor"
    if status is Status.SAME:
        if margin > math.log1p(rules.widest_same):
            return (
                Status.UNCLEAR,
                f"the sitting is too noisy: its floor is {math.expm1(margin):.1%}",
            )
        return status, _within(margin)
    medians = ab.medians()
    direction = 1 if status is Status.FASTER else -1
    if majority_sign(medians) != direction or sign_test(medians) > rules.sign_alpha:
        return Status.UNCLEAR, "the sign test does not agree with the interval"
    return status, f"beyond the floor of {math.expm1(margin):.2%}"


def _within(margin: float) -> str:
    return f"within {math.expm1(margin):.2%} either way"


def replay(samples: Sequence[Sample], rules: Rules, plan: Plan) -> Finding:
    """The verdict that the rules give on stored samples, look by look, as it was first given.

    This is how a reader checks a verdict instead of believing it.
    """
    measured = 1 + max((sample.generation for sample in samples), default=-1)
    finding = Finding(Status.UNCLEAR, False, "no look was reached")
    for look, generations in enumerate(plan.looks):
        if generations > measured:
            break
        seen = [sample for sample in samples if sample.generation < generations]
        finding = look_at(seen, rules, plan, look)
        if finding.settled:
            if generations != measured:
                raise ValueError(f"samples go on after look {look + 1} had settled it")
            break
    return finding
