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
from assay.judge.blocks import blocks_of
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
    return Limits.of(truth, baseline, tolerance).miss(truth, baseline, candidate)


@dataclass(frozen=True)
class Scale:
    """A measure of error, and what it allows; `unit` names what an error is divided by."""

    unit: str
    largest: float
    rms: float
    baseline_rms: float


@dataclass(frozen=True)
class Limits:
    """What one baseline output allows; the first scale is absolute and always there."""

    tolerance: Tolerance
    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, truth: torch.Tensor, baseline: torch.Tensor, tolerance: Tolerance) -> Self:
        tallies = {unit: _Tally() for unit in _UNITS}
        for block in blocks_of(truth, baseline):
            for unit, tally in tallies.items():
                tally.add(block, block.unit(unit))
        scales = [tallies["one"].scale("one", tolerance)]
        for unit in ("ulp", "slice_ulp"):
            if tallies[unit].worst <= _TRUSTED_UNITS:
                scales.append(tallies[unit].scale(unit, tolerance))
                break
        return cls(tolerance=tolerance, scales=tuple(scales))

    def miss(
        self, truth: torch.Tensor, baseline: torch.Tensor, candidate: torch.Tensor
    ) -> Miss | None:
        candidate = candidate.contiguous()
        sums = {scale.unit: 0.0 for scale in self.scales}
        wrong, count, first, why = 0, 0, -1, ""
        for block in blocks_of(truth, baseline):
            values = block.part(candidate)
            bad = self._bad(block, values)
            if bad_here := int(bad.sum()):
                if not wrong:
                    at = int(torch.argmax(bad.flatten().to(torch.uint8)))
                    first, why = block.start + at, self._why(block, values, at)
                wrong += bad_here
            errors, counted = block.errors(values)
            count += int(counted.sum())
            for unit in sums:
                sums[unit] += float((errors / block.unit(unit)).square_().sum())
        if wrong:
            return miss_at(first, wrong, truth, candidate, why)
        if not _has_many_values(truth):
            return None
        for scale in self.scales:
            rms = math.sqrt(sums[scale.unit] / count) if count else 0.0
            if rms > scale.rms:
                return self._rms_miss(truth, baseline, candidate, scale, rms)
        return None

    def _bad(self, block: Block, values: torch.Tensor) -> torch.Tensor:
        error = (values - block.truth).abs_()
        good = error <= self._allowed(block)
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

    def _why(self, block: Block, values: torch.Tensor, at: int) -> str:
        due, value = float(block.truth.flatten()[at]), float(values.flatten()[at])
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

    def _rms_miss(
        self,
        truth: torch.Tensor,
        baseline: torch.Tensor,
        candidate: torch.Tensor,
        scale: Scale,
        rms: float,
    ) -> Miss:
        """No element is wrong by itself: told by those whose error is above the allowed RMS."""
        wrong, first = 0, -1
        for block in blocks_of(truth, baseline):
            errors, _ = block.errors(block.part(candidate))
            above = errors > scale.rms * block.unit(scale.unit)
            if above_here := int(above.sum()):
                if not wrong:
                    first = block.start + int(torch.argmax(above.flatten().to(torch.uint8)))
                wrong += above_here
        why = f"RMS error {plain(rms)} where {plain(scale.rms)} is allowed"
        if scale.baseline_rms > 0:
            why = f"RMS error {rms / scale.baseline_rms:.3g}x the baseline's"
        return miss_at(first, wrong, truth, candidate, why + _UNITS[scale.unit])


def _has_many_values(truth: torch.Tensor) -> bool:
    """Whether an RMS says anything: a tensor of one value has one rounding, however large it is,
    and whose rounding is the smaller is luck."""
    flat = truth.reshape(-1)
    sampled = flat[:: max(1, flat.numel() // _SAMPLED)]
    return int(torch.unique(sampled).numel()) >= _FEWEST_VALUES


_UNITS = {"one": "", "ulp": ", in ulps", "slice_ulp": ", in ulps of the slice's largest value"}


class _Tally:
    """Worst and mean-square error of the baseline in one unit."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._count = 0
        self._squares = 0.0
        self._ulps = 0.0

    def add(self, block: Block, unit: torch.Tensor) -> None:
        errors, counted = block.errors(block.baseline)
        errors = errors / unit
        self.worst = max(self.worst, float(errors.max()))
        self._count += int(counted.sum())
        self._squares += float(errors.square_().sum())
        self._ulps += float((torch.where(counted, block.ulp, 0.0) / unit).square_().sum())

    def scale(self, unit: str, tolerance: Tolerance) -> Scale:
        count = max(self._count, 1)
        baseline_rms = math.sqrt(self._squares / count)
        always = tolerance.maximum_ulps / 2 * math.sqrt(self._ulps / count)
        return Scale(
            unit=unit,
            largest=tolerance.maximum_factor * self.worst,
            rms=max(tolerance.rms_factor * baseline_rms, always),
            baseline_rms=baseline_rms,
        )
