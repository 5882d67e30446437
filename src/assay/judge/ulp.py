"""Ulp: the distance between neighbouring numbers of a float dtype, and where its range ends."""

from __future__ import annotations

import math

import torch

_FRACTION_BITS = 52
_BIAS = 1023
_EXPONENT = 0x7FF << _FRACTION_BITS

_WITHOUT_INFINITY = frozenset({torch.float8_e4m3fn, torch.float8_e4m3fnuz})


def ulp(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The spacing of `dtype` at each float64 value; below the normal range it stays the smallest.

    Past the largest number (and at inf and nan) it is the spacing of the last binade.

    >>> ulp(torch.tensor([1.0, 1000.0, 0.0], dtype=torch.float64), torch.float16).tolist()
    [0.0009765625, 0.5, 5.960464477539063e-08]
    """
    info = torch.finfo(dtype)
    lowest = (_exponent(info.smallest_normal) + _BIAS) << _FRACTION_BITS
    highest = (_exponent(info.max) + _BIAS) << _FRACTION_BITS
    # The exponent is read from the bits: log2 and exp2 round, and a ulp must be a power of two.
    power = values.contiguous().view(torch.int64) & _EXPONENT
    return power.clamp_(lowest, highest).view(torch.float64).mul_(info.eps)


def has_infinity(dtype: torch.dtype) -> bool:
    return dtype not in _WITHOUT_INFINITY


def overflow(dtype: torch.dtype) -> float:
    """The least magnitude that rounds to infinity; infinity itself where no float64 number does.

    >>> overflow(torch.float16)
    65520.0
    """
    if dtype == torch.float64 or not has_infinity(dtype):
        return math.inf
    largest = torch.finfo(dtype).max
    # Halfway to what would follow the largest number; that tie goes to the even side: infinity.
    return (largest + math.ldexp(1.0, _exponent(largest) + 1)) / 2


def _exponent(value: float) -> int:
    return math.frexp(value)[1] - 1
