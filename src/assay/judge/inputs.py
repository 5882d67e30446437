"""Inputs: what the tensors of a row hold, for each distribution; layout is applied elsewhere.

Float inputs follow the distribution (contents.py). Whole numbers are uniform in their declared
range and booleans a fair coin, whatever the distribution. The same generator state gives the same
bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence

import torch

from assay.judge.axes import extents_of
from assay.judge.contents import data
from assay.judge.contents import weight
from assay.spec.distribution import Distribution
from assay.spec.domain import AxisRef
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

_BYTE_RANGES = {DType.INT8: (-128, 128), DType.UINT8: (0, 256)}
_OTHER_RANGE = (-1000, 1000)
_USUAL_EPS = 1e-5
_LARGEST_EPS = 0.1


def make_inputs(
    function: Function, row: Row, distribution: Distribution, generator: torch.Generator
) -> dict[str, torch.Tensor | None]:
    """Contiguous contents of every input and inout argument; None for an absent optional."""
    extents = extents_of(function, row)
    inputs: dict[str, torch.Tensor | None] = {}
    for argument in function.arguments:
        if argument.role is Role.OUTPUT:
            continue
        tensor = row.tensors.get(argument.name)
        if tensor is None:
            inputs[argument.name] = None
        elif tensor.dtype.is_floating:
            inputs[argument.name] = _floats(argument, tensor, distribution, _eps_of(row), generator)
        else:
            bounds = _bounds(argument, tensor.dtype, extents)
            inputs[argument.name] = _whole(tensor.shape, tensor.dtype, bounds, generator)
    return inputs


def seeded(device: str, seed: int) -> torch.Generator:
    """A generator on a device; the same seed gives the same bits on the same kind of device."""
    return torch.Generator(device=device).manual_seed(seed)


def torch_dtype(dtype: DType) -> torch.dtype:
    found = getattr(torch, dtype.value)
    assert isinstance(found, torch.dtype)
    return found


def _floats(
    argument: Argument,
    tensor: TensorSpec,
    distribution: Distribution,
    eps: float,
    generator: torch.Generator,
) -> torch.Tensor:
    dtype = torch_dtype(tensor.dtype)
    if argument.constant:
        return weight(tensor.shape, dtype, distribution, generator)
    return data(tensor.shape, dtype, distribution, eps, generator)


def _eps_of(row: Row) -> float:
    """The row's own eps, by what it looks like: its smallest small positive option."""
    small = [v for v in row.options.values() if isinstance(v, float) and 0 < v <= _LARGEST_EPS]
    return min(small, default=_USUAL_EPS)


def _bounds(
    argument: Argument, dtype: DType, extents: Mapping[str, tuple[int, ...]]
) -> tuple[int, int]:
    if argument.integers is None:
        return _BYTE_RANGES.get(dtype, _OTHER_RANGE)
    low, bound = argument.integers
    return low, _resolved(bound, argument, extents)


def _resolved(bound: AxisRef, argument: Argument, extents: Mapping[str, tuple[int, ...]]) -> int:
    """A bound in numbers; a starred axis counts all the positions that it stands for."""
    if isinstance(bound, int):
        return bound
    found = extents.get(bound.removeprefix("*"))
    if found is None:
        raise UsageError(
            f"argument {argument.name}: no tensor of the row has the axis {bound}",
            next_step="bound its integers by an axis of a tensor that is always passed",
        )
    return math.prod(found)


def _whole(
    shape: Sequence[int], dtype: DType, bounds: tuple[int, int], generator: torch.Generator
) -> torch.Tensor:
    low, high = (0, 2) if dtype is DType.BOOL else bounds
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=torch_dtype(dtype), device=generator.device)
    if low >= high:
        raise UsageError(f"there is no whole number from {low} to below {high}")
    drawn = torch.randint(low, high, shape, generator=generator, device=generator.device)
    return drawn.to(torch_dtype(dtype))
