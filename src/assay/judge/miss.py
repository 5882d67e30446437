"""Miss: where an output first goes wrong, and how it is told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from assay.judge.ulp import has_infinity

_WHOLE_NUMBERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Miss:
    """A wrong output: the first wrong element in row-major order, and how many there are."""

    first_bad_index: tuple[int, ...]
    expected: str
    """`repr` of the truth rounded to the output's dtype."""
    got: str
    wrong_elements: int
    elements: int
    why: str


def miss_at(flat: int, wrong: int, expected: torch.Tensor, got: torch.Tensor, why: str) -> Miss:
    """The miss whose first wrong element has this row-major index."""
    index = unravel(flat, got.shape)
    return Miss(
        first_bad_index=index,
        expected=repr(rounded(expected[index], got.dtype).item()),
        got=repr(got[index].item()),
        wrong_elements=wrong,
        elements=got.numel(),
        why=why,
    )


def rounded(truth: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Truth as the dtype would hold it; what has no infinity saturates, whatever torch's cast does.

    >>> rounded(torch.tensor(1e9, dtype=torch.float64), torch.float8_e4m3fn).item()
    448.0
    """
    if truth.dtype != dtype and dtype.is_floating_point and not has_infinity(dtype):
        largest = torch.finfo(dtype).max
        truth = truth.clamp(-largest, largest)
    return truth.to(dtype)


def exact_miss(expected: torch.Tensor, got: torch.Tensor, why: str) -> Miss | None:
    """Bit for bit; all NaN are one. A truth of another dtype is compared by value."""
    same = bits(expected) == bits(got) if expected.dtype == got.dtype else expected == got
    if got.dtype.is_floating_point and not bool(same.all()):
        # By way of float64: torch has no isnan for the eight-bit floats.
        same |= expected.to(torch.float64).isnan() & got.to(torch.float64).isnan()
    wrong = int((~same).sum())
    if wrong == 0:
        return None
    flat = int(torch.argmax((~same).flatten().to(torch.uint8)))
    return miss_at(flat, wrong, expected, got, why)


def bits(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(_WHOLE_NUMBERS[values.dtype.itemsize])


def unravel(flat: int, shape: torch.Size) -> tuple[int, ...]:
    """
    >>> unravel(7, torch.Size([2, 3, 2]))
    (1, 0, 1)
    """
    index = []
    for extent in reversed(shape):
        flat, at = divmod(flat, extent)
        index.append(at)
    return tuple(reversed(index))


def plain(value: float) -> str:
    """A figure for a sentence: two digits, since it is read and never computed with."""
    return f"{value:.1e}" if math.isfinite(value) else str(value)
