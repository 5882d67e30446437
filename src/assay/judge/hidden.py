"""Hidden rows: calls drawn from a task's declared domain after the candidate is sealed.

Extents are log-uniform or at an edge: the least, the next, odd ones, both sides of a power of two,
the most that fits. Edges, dtypes, optional tensors, options and layouts are dealt like cards, so a
few rows see as many of them as they can.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from assay.judge.dealer import Dealer
from assay.judge.extents import Extents
from assay.judge.extents import draw_extents
from assay.judge.layouts import laid_out
from assay.spec.binding import layouts_of
from assay.spec.binding import problems_of
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.forms import with_arguments
from assay.spec.forms import with_form
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Option
from assay.spec.task import Role
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec

_MOST_TRIES = 500


def draw_rows(
    task: Task, count: int, rng: random.Random, most_elements: int = 2**20
) -> tuple[Row, ...]:
    """`count` rows of the domain, none with a tensor of more than `most_elements` elements."""
    dealer = Dealer(rng)
    return tuple(_draw_row(task, index, dealer, most_elements) for index in range(count))


def _draw_row(task: Task, index: int, dealer: Dealer, most_elements: int) -> Row:
    function = task.functions[index % len(task.functions)]
    for _ in range(_MOST_TRIES):
        options = {option.name: _draw_option(task, option, dealer) for option in function.options}
        whole = {name: value for name, value in options.items() if type(value) is int}
        formed = _draw_forms(function, dealer)
        extents = draw_extents(task.domain, formed, whole, dealer, most_elements)
        if extents is None:
            continue
        row = Row(
            id=f"hidden_{index}",
            function=function.name,
            tensors=_in_company(formed, _draw_tensors(task, formed, extents, dealer), options),
            options=options,
            headline=False,
        )
        if not any(problems_of(task, row)):
            return row
    raise UsageError(
        f"found no row of {function.name} in its domain with at most {most_elements} elements",
        where=task.name,
        next_step="lower the least extents, or loosen divides and choices, in task.toml",
    )


def _draw_option(task: Task, option: Option, dealer: Dealer) -> Scalar:
    if option.choices is not None:
        return dealer.deal(("option", option.name), option.choices)
    assert option.low is not None
    assert option.high is not None
    kind = dealer.deal(("option", option.name), ("low", "high", "bulk", "bulk"))
    drawn = {
        "low": option.low,
        "high": option.high,
        "bulk": _between(option.low, option.high, dealer.rng),
    }[kind]
    # A range is one of floats unless the option divides an axis, which only a whole number can.
    if any(option.name in pair for pair in task.domain.divides):
        return min(max(round(drawn), math.ceil(option.low)), math.floor(option.high))
    return drawn


def _between(low: float, high: float, rng: random.Random) -> float:
    if low > 0:
        drawn = math.exp(rng.uniform(math.log(low), math.log(high)))
    else:
        drawn = rng.uniform(low, high)
    return min(max(drawn, low), high)


def _draw_forms(function: Function, dealer: Dealer) -> Function:
    """The function with one shape for each argument; those that choose together agree."""
    chosen: dict[str, int] = {}
    for argument in function.arguments:
        if argument.forms and argument.form_of is None:
            key = ("form", function.name, argument.name)
            chosen[argument.name] = dealer.deal(key, range(len(argument.every_form)))
    formed = {
        argument.name: with_form(argument, chosen[argument.form_of or argument.name])
        for argument in function.arguments
        if argument.forms
    }
    return with_arguments(function, formed)


def _draw_tensors(
    task: Task, function: Function, extents: Extents, dealer: Dealer
) -> dict[str, TensorSpec | None]:
    dtypes = _draw_dtypes(function, dealer)
    tensors: dict[str, TensorSpec | None] = {}
    for argument in function.arguments:
        key = (function.name, argument.name)
        free = argument.optional and argument.passed_with is None
        if free and not dealer.deal(("present", *key), (True, False)):
            tensors[argument.name] = None
            continue
        layout = dealer.deal(("layout", *key), _layouts(task, argument))
        shape = _shape(argument, extents)
        tensors[argument.name] = laid_out(shape, dtypes[argument.name], layout, dealer.rng)
    return tensors


def _in_company(
    function: Function,
    tensors: Mapping[str, TensorSpec | None],
    options: Mapping[str, Scalar],
) -> dict[str, TensorSpec | None]:
    """The drawn tensors without those that are not passed in this company."""
    absent = {
        argument.name
        for argument in function.arguments
        if (argument.passed_with is not None and tensors[argument.passed_with] is None)
        or (
            argument.passed_if is not None
            and options[argument.passed_if[0]] != argument.passed_if[1]
        )
    }
    return {name: None if name in absent else tensor for name, tensor in tensors.items()}


def _draw_dtypes(function: Function, dealer: Dealer) -> dict[str, DType]:
    drawn: dict[str, DType] = {}
    for argument in function.arguments:
        if argument.dtypes is not None:
            cards = (*argument.dtypes, None) if argument.like is not None else argument.dtypes
            dtype = dealer.deal(("dtype", function.name, argument.name), cards)
            if dtype is not None:
                drawn[argument.name] = dtype
    followers = [
        argument
        for argument in function.arguments
        if argument.like is not None and argument.name not in drawn
    ]
    # A chain of `like` is at most as long as there are arguments.
    for _ in followers:
        for argument in followers:
            if argument.like in drawn:
                drawn[argument.name] = drawn[argument.like]
    missing = [argument.name for argument in followers if argument.name not in drawn]
    if missing:
        raise UsageError(f"{function.name}: the dtypes of {', '.join(missing)} are like each other")
    return drawn


def _layouts(task: Task, argument: Argument) -> tuple[Layout, ...]:
    """What an argument may look like; nothing writes to a tensor whose elements overlap.

    Outputs are contiguous wherever the domain has that at all.
    """
    layouts = layouts_of(task, argument)
    plain = task.contract.contiguous or (
        argument.role is Role.OUTPUT and Layout.CONTIGUOUS in layouts
    )
    if argument.role is not Role.INPUT:
        layouts = tuple(layout for layout in layouts if layout is not Layout.BROADCAST)
    return (Layout.CONTIGUOUS,) if plain or not layouts else layouts


def _shape(argument: Argument, extents: Extents) -> tuple[int, ...]:
    shape: list[int] = []
    for axis in argument.shape:
        shape.extend((axis,) if isinstance(axis, int) else extents[axis.removeprefix("*")])
    return tuple(shape)
