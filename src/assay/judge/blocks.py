"""Blocks: an output in pieces, so that comparing it takes little memory beyond its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch

from assay.judge.ulp import has_infinity
from assay.judge.ulp import overflow
from assay.judge.ulp import ulp

# Temporaries are float64 and a dozen at a time: some 100 MB, however large the output is. A GPU
# has the room for more, and would spend its time on launches with less.
_BLOCK_ELEMENTS = 2**20
_BLOCK_ELEMENTS_ON_GPU = 2**24


@dataclass(frozen=True)
class Block:
    """A run of elements in row-major order, as float64."""

    start: int
    rows: slice
    columns: slice
    dtype: torch.dtype
    truth: torch.Tensor
    baseline: torch.Tensor
    largest: torch.Tensor
    """Largest finite magnitude of each last-axis slice."""

    @cached_property
    def ulp(self) -> torch.Tensor:
        return ulp(self.truth, self.dtype)

    @cached_property
    def overflow(self) -> float:
        return overflow(self.dtype)

    @cached_property
    def beyond(self) -> float:
        """What infinity stands for next to the border: the number after the largest one."""
        return 2 * self.overflow - torch.finfo(self.dtype).max

    def part(self, values: torch.Tensor) -> torch.Tensor:
        return _as_rows(values)[self.rows, self.columns].to(torch.float64)

    def unit(self, name: str) -> torch.Tensor:
        if name == "one":
            return torch.ones((), dtype=torch.float64, device=self.truth.device)
        return self.ulp if name == "ulp" else ulp(self.largest, self.dtype)

    def errors(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Absolute errors, zero where not all is finite, and where they count."""
        counted = (self.truth.abs() < self.overflow) & self.baseline.isfinite() & values.isfinite()
        return torch.where(counted, (values - self.truth).abs_(), 0.0), counted


def blocks_of(truth: torch.Tensor, baseline: torch.Tensor) -> Iterator[Block]:
    dtype = baseline.dtype
    truth_rows, baseline_rows = _as_rows(truth), _as_rows(baseline)
    height, width = truth_rows.shape
    most = _BLOCK_ELEMENTS if truth.device.type == "cpu" else _BLOCK_ELEMENTS_ON_GPU
    tall, wide = max(most // width, 1), min(most, width)
    for top in range(0, height, tall):
        rows = slice(top, min(top + tall, height))
        largest = _largest(truth_rows[rows], dtype)
        for left in range(0, width, wide):
            columns = slice(left, min(left + wide, width))
            yield Block(
                start=top * width + left,
                rows=rows,
                columns=columns,
                dtype=dtype,
                truth=_saturated(truth_rows[rows, columns].to(torch.float64), dtype),
                baseline=baseline_rows[rows, columns].to(torch.float64),
                largest=largest,
            )


def _as_rows(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1, values.shape[-1] if values.dim() else 1)


def _largest(rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    finite = rows.abs() < overflow(dtype)
    return torch.where(finite, rows.abs(), 0.0).amax(dim=1, keepdim=True).to(torch.float64)


def _saturated(truth: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if has_infinity(dtype):
        return truth
    largest = torch.finfo(dtype).max
    return truth.clamp(-largest, largest)
