"""The planner: a budget of device time becomes generations, blocks and launches.

It knows a device only by its lane's traits and how long one call takes; it never sees a candidate's
results, so nothing that a candidate does can change how it is measured.
"""

from __future__ import annotations

import math

from assay.spec.errors import UsageError
from assay.spec.lane import LaneTraits
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Seconds
from assay.spec.rules import Rules
from assay.stats.looks import look_schedule

_FEWEST_WARM = 3


class Plan(Noun):
    """How one row in one lane is measured. Fixed before the first timed batch."""

    generations: Positive
    ab_blocks: Positive
    aa_blocks: Positive
    launches: Positive
    """Calls in one timed batch, the same for both sides."""
    warm_launches: int
    looks: tuple[int, ...]
    resolution: Seconds
    """Of a batch: as many of them as the rules name are what it cannot be trusted with."""
    device_seconds: Seconds
    """What the whole plan costs if no look settles it."""
    host_paced: bool = True
    """Whether it is the host that decides how long the baseline's calls take: where it is the
    device, a host that is slow for a moment disturbs nothing."""


def plan_row(
    seconds: float,
    call_seconds: float,
    traits: LaneTraits,
    rules: Rules,
    *,
    host_paced: bool = True,
) -> Plan:
    """The best plan that `seconds` of device time buy for calls of `call_seconds`.

    Generations come first, since the process is what varies; blocks fill what is left.
    """
    launches = launches_of(call_seconds, traits, host_paced=host_paced)
    warm = warm_launches(call_seconds, traits)
    block_seconds = 4 * ((launches + warm) * call_seconds + traits.turn_seconds)
    affordable = int(seconds / block_seconds)
    generations, ab, aa = _shape(affordable, rules)
    if generations < rules.fewest_generations:
        least = rules.fewest_generations * 2 * block_seconds
        raise UsageError(
            f"a call takes {call_seconds:.3g} s, so {seconds:.3g} s buy {affordable} blocks",
            next_step=f"a budget of {math.ceil(least)} s is the least that can decide anything",
        )
    return Plan(
        generations=generations,
        ab_blocks=ab,
        aa_blocks=aa,
        launches=launches,
        warm_launches=warm,
        looks=look_schedule(rules, generations),
        resolution=traits.resolution + launches * traits.hidden_seconds / rules.absolute_ticks,
        device_seconds=generations * (ab + aa) * block_seconds,
        host_paced=host_paced,
    )


def launches_of(call_seconds: float, traits: LaneTraits, *, host_paced: bool = True) -> int:
    """Calls in one batch, so that it is as long as the lane asks for.

    >>> traits = {"batch_seconds": 0.04, "turn_seconds": 0.0, "resolution": 1e-6}
    >>> launches_of(0.001, LaneTraits(**traits, warm_launches=8))
    40
    """
    seconds = traits.batch_seconds
    if not host_paced and traits.device_batch_seconds is not None:
        seconds = traits.device_batch_seconds
    if traits.batch_seconds == 0:
        return 1
    return max(1, min(traits.most_launches, math.ceil(seconds / call_seconds)))


def warm_launches(call_seconds: float, traits: LaneTraits) -> int:
    """
    >>> traits = {"batch_seconds": 0.04, "turn_seconds": 0.0, "resolution": 1e-6}
    >>> warm_launches(0.001, LaneTraits(**traits, warm_launches=64, warm_seconds=0.005))
    5
    """
    if traits.warm_seconds is None:
        return traits.warm_launches
    return min(
        traits.warm_launches, max(_FEWEST_WARM, math.ceil(traits.warm_seconds / call_seconds))
    )


def _shape(affordable: int, rules: Rules) -> tuple[int, int, int]:
    """Generations, AB blocks and AA blocks per generation for so many blocks in all."""
    wanted = rules.ab_blocks + rules.aa_blocks
    per_generation = min(wanted, affordable // rules.generations)
    if per_generation >= 2:
        aa = max(1, per_generation * rules.aa_blocks // wanted)
        return rules.generations, per_generation - aa, aa
    return min(rules.generations, affordable // 2), 1, 1
