"""Extents: sizes for the named axes of a function, drawn from its domain within a budget.

Axes are drawn one after the other in random order (divisors first), each at most as large as leaves
room for the least of those still to come. So any axis is the large one in some rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping

from assay.judge.dealer import Dealer
from assay.spec.domain import Axis
from assay.spec.domain import Domain
from assay.spec.task import Function

_HIGHEST_RANK = 8
_USUAL_RANK = 4
_EDGES = ("least", "next", "odd", "below_power", "above_power", "most")
_CARDS = (*_EDGES, "bulk", "bulk", "bulk", "bulk")

Extents = dict[str, tuple[int, ...]]


def draw_extents(
    domain: Domain,
    function: Function,
    whole_options: Mapping[str, int],
    dealer: Dealer,
    most_elements: int,
) -> Extents | None:
    """Extents by axis name, or None where this draw found no room; the caller draws again."""
    ranks = _draw_ranks(domain, function, dealer)
    if ranks is None:
        return None
    extents: Extents = dict.fromkeys(ranks, ())
    for name in _in_order(domain, ranks, dealer):
        for position in range(ranks[name]):
            room = _room(domain, function, ranks, extents, name, most_elements)
            # Only the first extent of a starred axis is bound by `divides`.
            step = _step(domain, name, extents, whole_options) if position == 0 else 1
            extent = _draw_extent(name, domain.axes[name], room, step, dealer)
            if extent is None:
                return None
            extents[name] = (*extents[name], extent)
    return extents


def _draw_ranks(domain: Domain, function: Function, dealer: Dealer) -> dict[str, int] | None:
    ranks: dict[str, int] = {}
    for name, starred, highest in _axes_of(function):
        if not starred:
            ranks.setdefault(name, 1)
        elif name not in ranks:
            low, high = domain.rank[0], min(domain.rank[1], highest)
            high = min(high, max(low, _USUAL_RANK))
            if low > high:
                return None
            ranks[name] = dealer.deal(("rank", name), range(low, high + 1))
    return ranks


def _axes_of(function: Function) -> Iterator[tuple[str, bool, int]]:
    """Name of each axis, whether it is starred, and the most axes that it may stand for."""
    for argument in function.arguments:
        for axis in argument.shape:
            if isinstance(axis, str):
                left = _HIGHEST_RANK - len(argument.shape) + 1
                yield axis.removeprefix("*"), axis.startswith("*"), left


def _in_order(domain: Domain, ranks: Mapping[str, int], dealer: Dealer) -> list[str]:
    """A random order in which divisors come before what they divide."""
    left = dealer.rng.sample(list(ranks), len(ranks))
    order: list[str] = []
    while left:
        free = [n for n in left if not any(b == n and a in left for a, b in domain.divides)]
        chosen = (free or left)[0]
        left.remove(chosen)
        order.append(chosen)
    return order


def _room(
    domain: Domain,
    function: Function,
    ranks: Mapping[str, int],
    extents: Extents,
    name: str,
    most_elements: int,
) -> int:
    """The largest extent of `name` with which every tensor can still fit."""
    room = most_elements
    for argument in function.arguments:
        taken, here = 1, False
        for axis in argument.shape:
            if isinstance(axis, int):
                taken *= max(axis, 1)
                continue
            plain = axis.removeprefix("*")
            here |= plain == name
            undrawn = ranks[plain] - len(extents[plain]) - (plain == name)
            least = max(_least(domain.axes[plain]), 1)
            taken *= math.prod(max(n, 1) for n in extents[plain]) * least**undrawn
        if here:
            room = min(room, most_elements // taken)
    return room


def _least(axis: Axis) -> int:
    if axis.choices is not None:
        return min(axis.choices)
    return axis.low + -axis.low % axis.multiple_of


def _step(domain: Domain, name: str, extents: Extents, whole_options: Mapping[str, int]) -> int:
    step = 1
    for divisor, multiple in domain.divides:
        if multiple == name:
            drawn = extents.get(divisor)
            value = whole_options.get(divisor, drawn[0] if drawn else 1)
            step = math.lcm(step, max(value, 1))
    return step


def _draw_extent(name: str, axis: Axis, room: int, step: int, dealer: Dealer) -> int | None:
    step = math.lcm(step, axis.multiple_of)
    if axis.choices is not None:
        fitting = [n for n in axis.choices if n <= room and n % step == 0]
        return dealer.rng.choice(fitting) if fitting else None
    first, last = -(-axis.low // step), min(axis.high, room) // step
    if first > last:
        return None
    kind = dealer.deal(("extent", name), _CARDS)
    return _multiple(kind, first, last, step, dealer) * step


def _multiple(kind: str, first: int, last: int, step: int, dealer: Dealer) -> int:
    """How many steps; powers of two are those of the extent itself."""
    bulk = _log_uniform(first, last, dealer)
    power = 1 << max((bulk * step).bit_length() - 1, 0)
    wanted = {
        "least": first,
        "next": first + 1,
        "odd": bulk | 1,
        "below_power": (power - 1) // step,
        "above_power": power // step + 1,
        "most": last,
        "bulk": bulk,
    }[kind]
    return min(max(wanted, first), last)


def _log_uniform(first: int, last: int, dealer: Dealer) -> int:
    drawn = math.exp(dealer.rng.uniform(math.log(first + 1), math.log(last + 2))) - 1
    return min(max(int(drawn), first), last)
