"""Deviation: how far an answer is from the truth, in figures that can be compared by eye."""

from __future__ import annotations

import math
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

import torch

from assay.judge.blocks import Outputs
from assay.judge.blocks import Sum

_ABOUT = 0.02
"""A share of the truth's own size: what is further off is another function."""


@dataclass(frozen=True)
class Deviation:
    relative: float
    """Root mean square of the errors over that of the truth."""
    worst_ulps: float
    """In units of the last place of the answer's own format."""
    elements: int

    @property
    def is_about_right(self) -> bool:
        return self.relative <= _ABOUT

    @property
    def told(self) -> str:
        return f"off by {self.relative:.3g} of the truth's size"

    def content(self) -> dict[str, Any]:
        return asdict(self)


def deviation(truth: torch.Tensor, answer: torch.Tensor) -> Deviation:
    """Of one output. Whole numbers are right or wrong: each that differs is off by its size."""
    if not answer.dtype.is_floating_point:
        wrong = int((truth.to(answer.dtype) != answer).sum())
        share = wrong / max(answer.numel(), 1)
        return Deviation(math.sqrt(share), float(wrong > 0), answer.numel())
    errors, size, worst = Sum(), Sum(), 0.0
    for block in Outputs(truth, answer, answer).blocks():
        errors.add(block.candidate_errors, None)
        size.add(block.truth.abs(), None)
        worst = max(worst, float(block.in_unit(block.candidate_errors, "ulp").amax()))
    relative = errors.rms / size.rms if size.rms else float(errors.rms > 0)
    return Deviation(relative if math.isfinite(relative) else math.inf, worst, answer.numel())
