"""Axes: the extents that a row gives to the named axes of its function."""

from __future__ import annotations

from assay.spec.forms import in_form
from assay.spec.task import Function
from assay.spec.workload import Row


def extents_of(function: Function, row: Row) -> dict[str, tuple[int, ...]]:
    """By name without the star: one extent, or as many as a starred axis stands for.

    The row is taken to fit its function, which `spec.binding` checks.
    """
    extents: dict[str, tuple[int, ...]] = {}
    for argument in in_form(function, row).arguments:
        tensor = row.tensors.get(argument.name)
        if tensor is None:
            continue
        position = 0
        starred = len(tensor.shape) - len(argument.shape) + 1
        for axis in argument.shape:
            width = starred if str(axis).startswith("*") else 1
            if isinstance(axis, str):
                part = tensor.shape[position : position + width]
                extents.setdefault(axis.removeprefix("*"), part)
            position += width
    return extents
