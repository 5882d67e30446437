"""Looks: when the data may be looked at, what each look costs, and when to give up.

Looking after every batch at 5 % finds a difference between equal things several times too often.
Each look is therefore given a share of alpha, small at first (O'Brien and Fleming's shape, as Lan
and DeMets spend it). Shares are simply added: by Boole's inequality the sum bounds the error over
all looks whatever their correlation, at a small cost in power.
"""

from __future__ import annotations

import math

from scipy import stats

from assay.spec.rules import Rules
from assay.stats.interval import Estimate


def spent(fraction: float, alpha: float) -> float:
    """Alpha spent when this fraction of the information is in."""
    quantile = float(stats.norm.ppf(1 - alpha / 2))
    return 2 * float(stats.norm.sf(quantile / math.sqrt(fraction)))


def look_schedule(rules: Rules, generations: int) -> tuple[int, ...]:
    """After which generations to look: evenly spaced, none too early, the last at the end."""
    looks = min(rules.looks, generations // rules.fewest_generations)
    looks = max(looks, 1)
    return tuple(round(generations * (k + 1) / looks) for k in range(looks))


def look_alpha(schedule: tuple[int, ...], look: int, alpha: float) -> float:
    """The share of alpha that one look may use."""
    total = schedule[-1]
    before = spent(schedule[look - 1] / total, alpha) if look else 0.0
    return spent(schedule[look] / total, alpha) - before


def chance_to_decide(
    now: Estimate, total: int, last_alpha: float, margin: float, widest: float
) -> float:
    """Probability that the last look decides, if the truth is what has been seen so far.

    The last look's interval is narrower by the square root of the generations; its centre still
    wanders by what the missing generations can add.
    """
    final = Estimate(now.centre, now.standard_error * math.sqrt(now.generations / total), total)
    half = final.half_width(last_alpha)
    wander = math.sqrt(max(now.standard_error**2 - final.standard_error**2, 0.0))
    if wander == 0.0:
        return 1.0
    centre = stats.norm(now.centre, wander)
    outside = float(centre.sf(margin + half) + centre.cdf(-margin - half))
    # Within the floor, or on both sides of 1 and within the widest that can be the same.
    room = max(margin - half, min(half, widest - half))
    inside = float(centre.cdf(room) - centre.cdf(-room)) if room > 0 else 0.0
    return outside + inside
