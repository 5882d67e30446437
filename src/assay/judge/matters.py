"""Whether a task can tell anything: does an input matter, does the output vary?

Pure helpers over outputs that were computed elsewhere.
"""

from __future__ import annotations

import torch


def varies_along_every_axis(output: torch.Tensor) -> bool:
    """A kernel that copied one slice to all the others would be found out."""
    return not constant_axes(output)


def constant_axes(output: torch.Tensor) -> tuple[int, ...]:
    """The axes of more than one element along which nothing changes.

    >>> constant_axes(torch.tensor([[1.0, 2.0], [1.0, 2.0]]))
    (0,)
    """
    comparable = _comparable(output)
    return tuple(
        axis
        for axis, extent in enumerate(comparable.shape)
        if extent > 1 and comparable.numel() and not _changes(comparable, axis)
    )


def differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two outputs differ anywhere; all NaN are one, and so are the two zeros."""
    if one.shape != other.shape:
        return True
    return bool(_unequal(_comparable(one), _comparable(other)).any())


def _changes(values: torch.Tensor, axis: int) -> bool:
    first = values.narrow(axis, 0, 1)
    return bool(_unequal(values, first).any())


def _unequal(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one != other) & ~(one.isnan() & other.isnan())


def _comparable(values: torch.Tensor) -> torch.Tensor:
    # torch compares no eight-bit floats.
    narrow = values.dtype.is_floating_point and values.dtype.itemsize == 1
    return values.to(torch.float32) if narrow else values
