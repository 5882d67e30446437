"""Blocks: outputs in pieces, so that comparing them takes little memory beyond their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch

from assay.judge.ulp import has_infinity
from assay.judge.ulp import overflow
from assay.judge.ulp import ulp

# Temporaries are float64 and a dozen at a time: some 30 MB, however large the outputs are. A GPU
# has the room for more, and would spend its time on launches with less.
_BLOCK_ELEMENTS = 2**18
_BLOCK_ELEMENTS_ON_GPU = 2**24


@dataclass(frozen=True)
class Outputs:
    """What is compared, all of one shape; the baseline's dtype is the candidate's."""

    truth: torch.Tensor
    baseline: torch.Tensor
    candidate: torch.Tensor

    def blocks(self) -> Iterator[Block]:
        """The whole in row-major order."""
        dtype = self.baseline.dtype
        truth, baseline, candidate = map(_as_rows, (self.truth, self.baseline, self.candidate))
        height, width = truth.shape
        most = _BLOCK_ELEMENTS if truth.device.type == "cpu" else _BLOCK_ELEMENTS_ON_GPU
        tall, wide = max(most // width, 1), min(most, width)
        for top in range(0, height, tall):
            rows = slice(top, top + tall)
            slices = Slices(truth[rows].split(wide, dim=1), dtype)
            for left in range(0, width, wide):
                piece = rows, slice(left, left + wide)
                yield Block(
                    start=top * width + left,
                    dtype=dtype,
                    truth=_saturated(truth[piece].to(torch.float64), dtype),
                    baseline=baseline[piece].to(torch.float64),
                    candidate=candidate[piece].to(torch.float64),
                    slices=slices,
                )


@dataclass(frozen=True)
class Block:
    """A run of elements in row-major order, as float64."""

    start: int
    dtype: torch.dtype
    truth: torch.Tensor
    baseline: torch.Tensor
    candidate: torch.Tensor
    slices: Slices

    @cached_property
    def overflow(self) -> float:
        return overflow(self.dtype)

    @cached_property
    def beyond(self) -> float:
        """What infinity stands for next to the border: the number after the largest one."""
        return 2 * self.overflow - torch.finfo(self.dtype).max

    @cached_property
    def ulp(self) -> torch.Tensor:
        return ulp(self.truth, self.dtype)

    def unit(self, name: str) -> torch.Tensor:
        if name == "one":
            return torch.ones((), dtype=torch.float64, device=self.truth.device)
        return self.ulp if name == "ulp" else self.slices.ulp

    def in_unit(self, errors: torch.Tensor, name: str) -> torch.Tensor:
        return errors if name == "one" else errors / self.unit(name)

    @cached_property
    def baseline_errors(self) -> torch.Tensor:
        return (self.baseline - self.truth).abs_()

    @cached_property
    def candidate_errors(self) -> torch.Tensor:
        return (self.candidate - self.truth).abs_()

    @cached_property
    def baseline_counts(self) -> torch.Tensor | None:
        """Where truth and baseline are finite; None for everywhere, as nearly always."""
        if self._is_plain:
            return None
        return (self.truth.abs() < self.overflow) & self.baseline.isfinite()

    @cached_property
    def candidate_counts(self) -> torch.Tensor | None:
        """Where the candidate is finite too."""
        counts = self.baseline_counts
        return None if counts is None else counts & self.candidate.isfinite()

    @cached_property
    def _is_plain(self) -> bool:
        """Whether nothing is infinite or NaN, or due to be."""
        # A maximum is NaN where any element is, and an error is not finite where a value is not.
        sizes = (self.truth.abs(), self.baseline_errors, self.candidate_errors)
        truth, *errors = torch.stack([size.amax() for size in sizes]).tolist()
        return truth < self.overflow and all(map(math.isfinite, errors))


@dataclass(frozen=True)
class Slices:
    """The truth's whole last-axis slices that a block's elements are from, in parts if wide."""

    parts: tuple[torch.Tensor, ...]
    dtype: torch.dtype

    @cached_property
    def ulp(self) -> torch.Tensor:
        """At the largest finite magnitude of each."""
        largest = torch.stack([self._largest(part.to(torch.float64)) for part in self.parts])
        return ulp(largest.amax(dim=0), self.dtype)

    def _largest(self, part: torch.Tensor) -> torch.Tensor:
        sizes, limit = part.abs(), overflow(self.dtype)
        largest = sizes.amax(dim=1, keepdim=True)
        if bool((largest < limit).all()):
            return largest
        return torch.where(sizes < limit, sizes, 0.0).amax(dim=1, keepdim=True)


@dataclass
class Sum:
    """Errors over all blocks: the worst, their squares and how many count."""

    worst: float = 0.0
    squares: float = 0.0
    count: int = 0

    @property
    def rms(self) -> float:
        return math.sqrt(self.squares / max(self.count, 1))

    def add(self, errors: torch.Tensor, counts: torch.Tensor | None) -> None:
        if counts is not None:
            errors = torch.where(counts, errors, 0.0)
        worst, squares = torch.stack([errors.amax(), errors.square().sum()]).tolist()
        self.worst = max(self.worst, worst)
        self.squares += squares
        self.count += errors.numel() if counts is None else int(counts.sum())


def _as_rows(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1, values.shape[-1] if values.dim() else 1)


def _saturated(truth: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if has_infinity(dtype):
        return truth
    largest = torch.finfo(dtype).max
    return truth.clamp(-largest, largest)
