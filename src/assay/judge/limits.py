"""Limits: how far a candidate's output may be from the truth, given how far the baseline is.

Over the elements where truth and baseline are finite:

- no error above max(maximum_factor x the baseline's largest error, maximum_ulps ulps);
- the root mean square of the errors at most max(rms_factor x the baseline's, that of half of
  maximum_ulps ulps);
- the same two, measured in *units*, where the baseline shows that a unit is the right measure.

The third is there because one large element with a large error would else excuse any error in all
the small ones. A unit is the ulp at the element's own magnitude or, where cancellation makes that
meaningless, the ulp at the largest magnitude of its last-axis slice. A unit counts only if the
baseline is within `_TRUSTED_UNITS` of them at every element: then the function is well conditioned
at that scale everywhere, for an honest candidate of like precision too. If it is not, the
baseline's worst error in units is the luck of a few cancelling elements, an honest other order of
summation has twice that as often as not, and the unit decides nothing. The third rule only ever
tightens the first two. RMS is only compared where the truth has many different values.

NaN must stand exactly where the truth is NaN, and infinity where the truth rounds to it; within
`maximum_ulps` of that border either side of it is right. Where the baseline is not finite though
the truth is, a candidate may also do as the baseline does. Dtypes without infinity saturate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import torch

from assay.judge.blocks import Block
from assay.judge.blocks import Outputs
from assay.judge.blocks import Sum
from assay.judge.miss import Miss
from assay.judge.miss import exact_miss
from assay.judge.miss import miss_at
from assay.judge.miss import plain
from assay.spec.contract import Tolerance

_TRUSTED_UNITS = 8.0
_SAMPLED = 2**14
_FEWEST_VALUES = 256


def check(
    truth: torch.Tensor, baseline: torch.Tensor, candidate: torch.Tensor, tolerance: Tolerance
) -> Miss | None:
    """Where the candidate's output is wrong, or None. Truth is float64, or whole numbers."""
    if not truth.shape == baseline.shape == candidate.shape:
        raise ValueError("truth, baseline and candidate differ in shape")
    if baseline.dtype != candidate.dtype:
        raise ValueError("baseline and candidate differ in dtype")
    if candidate.numel() == 0:
        return None
    if tolerance.exact:
        return exact_miss(baseline, candidate, "bits differ from the baseline's")
    if not candidate.dtype.is_floating_point:
        return exact_miss(truth, candidate, "a whole number differs from the truth")
    return Limits.of(Outputs(truth, baseline, candidate), tolerance).miss()


class Scale:
    """Both outputs' errors in one unit, and what the baseline's allow."""

    def __init__(self, unit: str, tolerance: Tolerance) -> None:
        self.unit = unit
        self.baseline = Sum()
        self.candidate = Sum()
        self._tolerance = tolerance
        self._ulps = Sum()

    @property
    def is_trusted(self) -> bool:
        return self.baseline.worst <= _TRUSTED_UNITS

    @property
    def largest(self) -> float:
        return self._tolerance.maximum_factor * self.baseline.worst

    @property
    def rms(self) -> float:
        one_ulp = 1.0 if self.unit == "ulp" else self._ulps.rms
        return max(
            self._tolerance.rms_factor * self.baseline.rms,
            self._tolerance.maximum_ulps / 2 * one_ulp,
        )

    def add(self, block: Block) -> None:
        counts = block.baseline_counts
        self.baseline.add(block.in_unit(block.baseline_errors, self.unit), counts)
        self.candidate.add(block.in_unit(block.candidate_errors, self.unit), block.candidate_counts)
        if self.unit != "ulp":
            self._ulps.add(block.in_unit(block.ulp, self.unit), counts)


@dataclass(frozen=True)
class Limits:
    """What the baseline's errors allow; the first scale is absolute and always there."""

    outputs: Outputs
    tolerance: Tolerance
    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, outputs: Outputs, tolerance: Tolerance) -> Self:
        one, in_ulps, in_slice_ulps = (Scale(unit, tolerance) for unit in _UNITS)
        for block in outputs.blocks():
            one.add(block)
            if in_ulps.is_trusted:
                in_ulps.add(block)
        if in_ulps.is_trusted:
            return cls(outputs, tolerance, (one, in_ulps))
        for block in outputs.blocks():
            if in_slice_ulps.is_trusted:
                in_slice_ulps.add(block)
        if in_slice_ulps.is_trusted:
            return cls(outputs, tolerance, (one, in_slice_ulps))
        return cls(outputs, tolerance, (one,))

    def miss(self) -> Miss | None:
        if not self._all_are_good():
            miss = self._first_bad()
            if miss is not None:
                return miss
        for scale in self.scales:
            if scale.candidate.rms > scale.rms and _has_many_values(self.outputs.truth):
                return self._rms_miss(scale)
        return None

    def _all_are_good(self) -> bool:
        """Whether the worst errors alone show that no element is bad; else each has to be seen."""
        if self.scales[0].candidate.count < self.outputs.candidate.numel():
            return False
        return all(scale.candidate.worst <= scale.largest for scale in self.scales) or any(
            scale.unit == "ulp" and scale.candidate.worst <= self.tolerance.maximum_ulps
            for scale in self.scales
        )

    def _first_bad(self) -> Miss | None:
        wrong, first, why = 0, -1, ""
        for block in self.outputs.blocks():
            bad = self._bad(block)
            if bad_here := int(bad.sum()):
                if not wrong:
                    at = _first(bad)
                    first, why = block.start + at, self._why(block, at)
                wrong += bad_here
        if not wrong:
            return None
        return miss_at(first, wrong, self.outputs.truth, self.outputs.candidate, why)

    def _bad(self, block: Block) -> torch.Tensor:
        values = block.candidate
        good = block.candidate_errors <= self._allowed(block)
        ulps = self.tolerance.maximum_ulps * block.ulp
        at_border = (values.clamp(-block.beyond, block.beyond) - block.truth).abs_() <= ulps
        infinite = values.isinf()
        due_infinite = block.truth.abs() >= block.overflow
        good = torch.where(infinite | due_infinite, at_border, good)
        good |= due_infinite & infinite & (values.sign() == block.truth.sign())
        as_baseline = (values == block.baseline) | (values.isnan() & block.baseline.isnan())
        good |= as_baseline & ~block.baseline.isfinite() & ~due_infinite
        due_nan = block.truth.isnan()
        return ~torch.where(due_nan, values.isnan(), good)

    def _allowed(self, block: Block) -> torch.Tensor:
        allowed = torch.full_like(block.truth, math.inf)
        for scale in self.scales:
            allowed = torch.minimum(allowed, scale.largest * block.unit(scale.unit))
        return torch.maximum(allowed, self.tolerance.maximum_ulps * block.ulp)

    def _why(self, block: Block, at: int) -> str:
        due, value = float(block.truth.flatten()[at]), float(block.candidate.flatten()[at])
        if math.isnan(due):
            return "a number where NaN is due"
        if math.isnan(value):
            return "NaN where a number is due"
        if abs(due) >= block.overflow:
            return "infinity is due here"
        if math.isinf(value):
            return "infinity where a finite number is due"
        allowed = float(self._allowed(block).flatten()[at])
        return f"off by {plain(abs(value - due))} where {plain(allowed)} is allowed"

    def _rms_miss(self, scale: Scale) -> Miss:
        """No element is wrong by itself: told by those whose error is above the allowed RMS."""
        wrong, first = 0, -1
        for block in self.outputs.blocks():
            above = block.candidate_errors > scale.rms * block.unit(scale.unit)
            if block.candidate_counts is not None:
                above &= block.candidate_counts
            if above_here := int(above.sum()):
                if not wrong:
                    first = block.start + _first(above)
                wrong += above_here
        why = f"RMS error {plain(scale.candidate.rms)} where {plain(scale.rms)} is allowed"
        if scale.baseline.rms > 0:
            why = f"RMS error {scale.candidate.rms / scale.baseline.rms:.3g}x the baseline's"
        truth, candidate = self.outputs.truth, self.outputs.candidate
        return miss_at(first, wrong, truth, candidate, why + _UNITS[scale.unit])


def _first(chosen: torch.Tensor) -> int:
    return int(torch.argmax(chosen.flatten().to(torch.uint8)))


def _has_many_values(truth: torch.Tensor) -> bool:
    """Whether an RMS says anything: a tensor of one value has one rounding, however large it is,
    and whose rounding is the smaller is luck."""
    flat = truth.reshape(-1)
    sampled = flat[:: max(1, flat.numel() // _SAMPLED)]
    return int(torch.unique(sampled).numel()) >= _FEWEST_VALUES


_UNITS = {"one": "", "ulp": ", in ulps", "slice_ulp": ", in ulps of the slice's largest value"}
