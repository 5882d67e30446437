"""Forms: which of its several shapes each argument of a row has."""

from __future__ import annotations

from collections.abc import Iterator

from assay.spec.domain import AxisRef
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.workload import Row

Extents = dict[str, tuple[int, ...]]


def in_form(function: Function, row: Row) -> Function:
    """The function as the row calls it: every argument with the one shape that its tensor has.

    An argument whose tensor has none of its shapes keeps them all.
    """
    extents: Extents = {}
    for argument in function.arguments:
        if not argument.forms:
            _bind(argument.shape, _shape(argument, row), extents)
    found: dict[str, Argument] = {}
    for choosers in _groups(function, row):
        for index in range(len(choosers[0].every_form)):
            trial = dict(extents)
            if all(_bind(a.every_form[index], _shape(a, row), trial) for a in choosers):
                extents = trial
                found.update((a.name, with_form(a, index)) for a in choosers)
                break
    return with_arguments(function, found)


def with_form(argument: Argument, index: int) -> Argument:
    """The argument with one of its shapes and no other."""
    form = argument.every_form[index]
    return argument.model_copy(update={"shape": form, "forms": (), "form_of": None})


def with_arguments(function: Function, changed: dict[str, Argument]) -> Function:
    arguments = tuple(changed.get(a.name, a) for a in function.arguments)
    return function.model_copy(update={"arguments": arguments})


def spread(shape: tuple[AxisRef, ...], rank: int) -> list[tuple[AxisRef, int]] | None:
    """How many axes each entry of a symbolic shape stands for, or None if that cannot be."""
    stars = sum(str(axis).startswith("*") for axis in shape)
    starred = rank - (len(shape) - stars)
    if starred < 0 or (stars == 0 and starred != 0):
        return None
    return [(axis, starred if str(axis).startswith("*") else 1) for axis in shape]


def _groups(function: Function, row: Row) -> Iterator[list[Argument]]:
    """Arguments that choose their form together; one whose chooser is absent chooses alone."""
    passed = [a for a in function.arguments if a.forms and row.tensors.get(a.name) is not None]
    names = {argument.name for argument in passed}
    for argument in passed:
        if argument.form_of not in names:
            yield [argument, *(a for a in passed if a.form_of == argument.name)]


def _shape(argument: Argument, row: Row) -> tuple[int, ...] | None:
    tensor = row.tensors.get(argument.name)
    return None if tensor is None else tensor.shape


def _bind(form: tuple[AxisRef, ...], shape: tuple[int, ...] | None, extents: Extents) -> bool:
    """Whether the shape has that form, given the extents so far; adds those that it names."""
    if shape is None:
        return True
    widths = spread(form, len(shape))
    if widths is None:
        return False
    position, fits = 0, True
    for axis, width in widths:
        part = shape[position : position + width]
        position += width
        if isinstance(axis, int):
            fits &= part == (axis,)
        else:
            fits &= extents.setdefault(axis.removeprefix("*"), part) == part
    return fits
