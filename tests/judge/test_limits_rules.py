"""The limits against their rules, stated over whole tensors with no regard to time or memory."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch

from assay.judge import blocks
from assay.judge import limits
from assay.judge.limits import check
from assay.judge.miss import Miss
from assay.judge.miss import miss_at
from assay.judge.miss import plain
from assay.judge.miss import rounded
from assay.spec.contract import Tolerance
from tests.judge.small_tasks import seeded

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
]
SATURATING = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)
SHAPES = [(), (1,), (40,), (600,), (5, 1), (1, 9), (2, 3, 4), (7, 31), (3, 5, 40), (20, 32)]
TOLERANCES = [
    Tolerance(),
    Tolerance(maximum_ulps=0.0),
    Tolerance(maximum_ulps=4.0, reason="another order of summation"),
    Tolerance(maximum_factor=1.0, rms_factor=1.0),
    Tolerance(maximum_factor=50.0, maximum_ulps=0.25, reason="the RMS is to decide"),
]
WORDS = {
    "one": "",
    "ulp": ", in ulps",
    "slice_ulp": ", in ulps of the slice's largest value",
}
CASES = 150

Outputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def spacing(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    info = torch.finfo(dtype)
    lowest, highest = (math.frexp(edge)[1] for edge in (info.smallest_normal, info.max))
    exponents = torch.frexp(values.abs().nan_to_num(info.max, info.max)).exponent
    exponents = torch.where(values == 0, lowest, exponents).clamp(lowest, highest)
    steps = [math.ldexp(info.eps, exponent - 1) for exponent in exponents.reshape(-1).tolist()]
    return torch.tensor(steps, dtype=torch.float64).reshape(values.shape)


class Stated:
    """The rules as limits.py tells them, one after the other."""

    def __init__(self, outputs: Outputs, tolerance: Tolerance) -> None:
        self.raw, baseline, self.got = outputs
        self.tolerance = tolerance
        self.dtype = dtype = self.got.dtype
        largest = torch.finfo(dtype).max
        self.truth = self.raw.clamp(-largest, largest) if dtype in SATURATING else self.raw
        self.baseline, self.candidate = baseline.double(), self.got.double()
        step = spacing(torch.tensor(largest, dtype=torch.float64), dtype).item()
        endless = dtype in SATURATING or dtype is torch.float64
        self.overflow = math.inf if endless else largest + step / 2
        self.beyond = math.inf if endless else largest + step
        self.ulp = spacing(self.truth, dtype)
        self.due_infinite = self.truth.abs() >= self.overflow
        self.counted = (self.truth.abs() < self.overflow) & self.baseline.isfinite()
        self.units = {
            "one": torch.ones_like(self.ulp),
            "ulp": self.ulp,
            "slice_ulp": self.slice_ulp(),
        }
        self.scales = self.trusted_scales()

    def slice_ulp(self) -> torch.Tensor:
        rows = self.raw.abs() if self.raw.dim() else self.raw.abs().reshape(1)
        finite = torch.where(rows < self.overflow, rows, 0.0)
        largest = finite.max(dim=-1, keepdim=True).values.expand(rows.shape)
        return spacing(largest, self.dtype).reshape(self.raw.shape)

    def errors(self, values: torch.Tensor, counted: torch.Tensor, unit: str) -> torch.Tensor:
        """Of the elements that count, one after the other."""
        return ((values - self.truth).abs() / self.units[unit])[counted]

    def trusted_scales(self) -> list[str]:
        for unit in ("ulp", "slice_ulp"):
            if not (self.errors(self.baseline, self.counted, unit) > 8).any():
                return ["one", unit]
        return ["one"]

    def allowed(self) -> torch.Tensor:
        least = torch.full_like(self.ulp, math.inf)
        for unit in self.scales:
            worst = max(self.errors(self.baseline, self.counted, unit).tolist(), default=0.0)
            limit = self.tolerance.maximum_factor * worst * self.units[unit]
            least = torch.where(limit < least, limit, least)
        always = self.tolerance.maximum_ulps * self.ulp
        return torch.where(always > least, always, least)

    def is_right(self) -> torch.Tensor:
        """Element by element."""
        truth, value, due = self.truth, self.candidate, self.due_infinite
        near = (value - truth).abs() <= self.allowed()
        inside = value.clamp(-self.beyond, self.beyond)
        at_border = (inside - truth).abs() <= self.tolerance.maximum_ulps * self.ulp
        right = torch.where(due | value.isinf(), at_border, near)
        right |= due & value.isinf() & ((value > 0) == (truth > 0))
        broken = ~self.baseline.isfinite() & ~due
        alike = (value == self.baseline) | (value.isnan() & self.baseline.isnan())
        return torch.where(truth.isnan(), value.isnan(), right | (broken & alike))

    def miss(self) -> Miss | None:
        right = self.is_right()
        if not right.all():
            at = right.reshape(-1).tolist().index(False)
            return miss_at(at, int((~right).sum()), self.raw, self.got, self.why(at))
        sample = self.raw.reshape(-1)
        if len(set(sample.tolist())) < limits._FEWEST_VALUES:
            return None
        return next(filter(None, map(self.rms_miss, self.scales)), None)

    def why(self, at: int) -> str:
        due = self.truth.reshape(-1)[at].item()
        value = self.candidate.reshape(-1)[at].item()
        if math.isnan(due):
            return "a number where NaN is due"
        if math.isnan(value):
            return "NaN where a number is due"
        if self.due_infinite.reshape(-1)[at]:
            return "infinity is due here"
        if math.isinf(value):
            return "infinity where a finite number is due"
        allowed = self.allowed().reshape(-1)[at].item()
        return f"off by {plain(abs(value - due))} where {plain(allowed)} is allowed"

    def rms_miss(self, unit: str) -> Miss | None:
        counted = self.counted & self.candidate.isfinite()
        mine = self.errors(self.candidate, counted, unit)
        theirs = rms(self.errors(self.baseline, self.counted, unit))
        ulps = rms((self.ulp / self.units[unit])[self.counted])
        limit = max(self.tolerance.rms_factor * theirs, self.tolerance.maximum_ulps / 2 * ulps)
        if rms(mine) <= limit:
            return None
        above = counted & ((self.candidate - self.truth).abs() > limit * self.units[unit])
        why = f"RMS error {plain(rms(mine))} where {plain(limit)} is allowed"
        if theirs > 0:
            why = f"RMS error {rms(mine) / theirs:.3g}x the baseline's"
        first = above.reshape(-1).tolist().index(True)
        return miss_at(first, int(above.sum()), self.raw, self.got, why + WORDS[unit])


def rms(errors: torch.Tensor) -> float:
    return math.sqrt(math.fsum((errors * errors).tolist()) / max(errors.numel(), 1))


class Draw:
    """Random outputs, most of them at the edge of what is allowed."""

    def __init__(self, dtype: torch.dtype, seed: int) -> None:
        self.dtype = dtype
        self.lot = random.Random(seed)
        self.generator = seeded(seed)

    def normal(self, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def outputs(self) -> Outputs:
        shape = self.lot.choice(SHAPES)
        truth = self.truth(shape)
        unit = self.unit(truth)
        errors = self.lot.choice([0, 1, 2, 3, 9])
        baseline = self.off_by(truth, errors, unit)
        edge = self.lot.choice([1, 2, errors, 2 * errors, 2 * errors + 1])
        candidate = self.off_by(truth, edge, unit)
        if self.lot.random() < 0.2:
            truth, baseline, candidate = self.broken(truth, baseline, candidate)
        if len(shape) == 3 and self.lot.random() < 0.5:
            candidate = candidate.transpose(0, 2).contiguous().transpose(0, 2)
        return truth, baseline, candidate

    def truth(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Representable or not, of like or of very different sizes, cancelling, at both ends."""
        info = torch.finfo(self.dtype)
        values = self.normal(shape)
        kind = self.lot.choice(["normal", "wide", "cancelling", "small", "large", "same"])
        if kind == "wide":
            values *= torch.exp2(2 * self.normal(shape).round())
        elif kind == "cancelling":
            values *= torch.where(self.normal(shape) > 1, 2.0**-6, 1.0)
        elif kind == "small":
            values *= info.smallest_normal
        elif kind == "large":
            values = values.sign() * info.max * (1 - info.eps * self.normal(shape).abs())
        elif kind == "same":
            values = torch.full(shape, 1.25, dtype=torch.float64)
        return rounded(values, self.dtype).double() if self.lot.random() < 0.5 else values

    def unit(self, truth: torch.Tensor) -> torch.Tensor:
        """Ulps of the elements, of each slice's largest, or of the largest of all."""
        ulps = spacing(truth, self.dtype)
        kind = self.lot.choice(["own", "own", "slice", "all"])
        if kind == "slice" and truth.dim():
            return ulps.amax(dim=-1, keepdim=True).expand(truth.shape)
        return ulps.max().expand(truth.shape) if kind == "all" else ulps

    def off_by(self, truth: torch.Tensor, most: int, unit: torch.Tensor) -> torch.Tensor:
        """Errors of whole units, up to so many; at times in a few elements only."""
        if self.lot.random() < 0.3:
            unit = torch.where(self.normal(truth.shape) > 1.5, unit, 0.0)
        steps = (self.normal(truth.shape) * most).round().clamp(-most, most)
        return rounded(truth + steps * unit, self.dtype)

    def broken(self, *outputs: torch.Tensor) -> Outputs:
        """NaN, infinity or the border at one element or two, in one output or in several."""
        largest = torch.finfo(self.dtype).max
        for _ in range(self.lot.choice([1, 1, 2])):
            at = self.lot.randrange(outputs[0].numel())
            value = self.lot.choice([math.nan, math.inf, -math.inf, largest, 2 * largest])
            for output in self.lot.choice([outputs, outputs[:1], outputs[1:], outputs[2:]]):
                there = output.view(-1)
                there[at] = rounded(torch.tensor(value, dtype=torch.float64), output.dtype)
        truth, baseline, candidate = outputs
        return truth, baseline, candidate


def kind_of(miss: Miss | None) -> str:
    """What is told, less the figures."""
    return "right" if miss is None else " ".join(w for w in miss.why.split() if w[0].isalpha())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_limits_are_the_rules_as_stated(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_FEWEST_VALUES", 30)
    seen: Counter[str] = Counter()
    for seed in range(CASES):
        draw = Draw(dtype, seed)
        outputs, tolerance = draw.outputs(), draw.lot.choice(TOLERANCES)
        monkeypatch.setattr(blocks, "_BLOCK_ELEMENTS", draw.lot.choice([7, 60, 2**18, 2**18]))
        stated = Stated(outputs, tolerance)
        found = check(*outputs, tolerance)
        assert found == stated.miss(), f"seed {seed}"
        seen.update([kind_of(found), stated.scales[-1]])
    # The cases are no test unless each rule decides some of them, and each unit is trusted in some.
    expected = {*WORDS, "right", "off by where is allowed", "RMS error the baseline's"}
    expected |= {"a number where NaN is due", "NaN where a number is due"}
    if dtype not in SATURATING:
        expected |= {"infinity is due here", "infinity where a finite number is due"}
    assert expected <= seen.keys()
