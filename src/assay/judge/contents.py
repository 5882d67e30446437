"""Contents: float tensors of one distribution, within the range of their dtype.

Data follow the distribution. Weights stay around one and are never near zero as a whole: a weight
of zeros hides whatever it multiplies, and a weight of ones hides its own absence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from assay.spec.distribution import Distribution

# Larger ones would swallow the rest of a float32 sum of squares, and with it honest kernels.
_LARGEST_SPIKE = 1e3
_OFF_AXIS_SHARE = 0.125
Shape = Sequence[int]


def data(
    shape: Shape,
    dtype: torch.dtype,
    distribution: Distribution,
    eps: float,
    generator: torch.Generator,
) -> torch.Tensor:
    """`eps` is the row's own, for data whose variance is near it."""
    draw = _Draw(dtype, eps, generator)
    return draw.rounded(_DATA[distribution](draw, shape))


def weight(
    shape: Shape, dtype: torch.dtype, distribution: Distribution, generator: torch.Generator
) -> torch.Tensor:
    draw = _Draw(dtype, 1.0, generator)
    if distribution is Distribution.WIDE:
        return draw.rounded(draw.powers(shape, 3))
    if distribution is Distribution.ONES:
        # Exact, and never one: beside data of ones only the weight itself can show.
        return draw.rounded(draw.pick(shape, (-2.0, -0.5, 0.5, 2.0)))
    return draw.rounded(draw.normal(shape).mul_(0.5).add_(1))


@dataclass(frozen=True)
class _Draw:
    """Random tensors in float32 or wider, on the generator's device, for one dtype."""

    dtype: torch.dtype
    eps: float
    generator: torch.Generator

    @property
    def info(self) -> torch.finfo:
        return torch.finfo(self.dtype)

    @property
    def wide(self) -> torch.dtype:
        return torch.float64 if self.dtype == torch.float64 else torch.float32

    def rounded(self, values: torch.Tensor) -> torch.Tensor:
        return values.clamp_(-self.info.max, self.info.max).to(self.dtype)

    def full(self, shape: Shape, value: float) -> torch.Tensor:
        return torch.full(tuple(shape), value, dtype=self.wide, device=self.generator.device)

    def normal(self, shape: Shape) -> torch.Tensor:
        return self.full(shape, 0.0).normal_(generator=self.generator)

    def uniform(self, shape: Shape) -> torch.Tensor:
        return self.full(shape, 0.0).uniform_(generator=self.generator)

    def pick(self, shape: Shape, values: tuple[float, ...]) -> torch.Tensor:
        device = self.generator.device
        at = torch.randint(len(values), tuple(shape), generator=self.generator, device=device)
        return torch.tensor(values, dtype=self.wide, device=device)[at]

    def sign(self, shape: Shape) -> torch.Tensor:
        return self.pick(shape, (-1.0, 1.0))

    def powers(self, shape: Shape, span: int) -> torch.Tensor:
        """Either sign, magnitudes log-uniform from 2^-span to 2^span."""
        exponents = self.uniform(shape).mul_(2 * span).sub_(span)
        return exponents.exp2_().mul_(self.sign(shape))

    def some(self, shape: Shape, share: float) -> torch.Tensor:
        """True at a random share of the elements, and at one at least."""
        chosen = self.uniform(shape) < share
        if chosen.numel():
            device = self.generator.device
            at = torch.randint(chosen.numel(), (), generator=self.generator, device=device)
            chosen.view(-1)[at] = True
        return chosen


def _wide(draw: _Draw, shape: Shape) -> torch.Tensor:
    # Three powers of two are kept free, so that the sum of a few elements is still in range.
    return draw.powers(shape, min(20, math.floor(math.log2(draw.info.max)) - 3))


def _offset(draw: _Draw, shape: Shape) -> torch.Tensor:
    """Mean 1000 and spread 1; in a narrow dtype mean 100, spread 1 or two ulps of that mean."""
    if draw.info.bits >= 32:
        return draw.normal(shape).add_(1000.0)
    return draw.normal(shape).mul_(max(1.0, 2 * 64 * draw.info.eps)).add_(100.0)


def _outliers(draw: _Draw, shape: Shape) -> torch.Tensor:
    times = min(1000.0, draw.info.max / 8)
    return draw.normal(shape).mul_(torch.where(draw.some(shape, 1e-3), times, 1.0))


def _tiny_variance(draw: _Draw, shape: Shape) -> torch.Tensor:
    """Variance equal to the row's eps, as far as the dtype's normal range reaches down."""
    return draw.normal(shape).mul_(max(math.sqrt(draw.eps), 8 * draw.info.smallest_normal))


def _denormal(draw: _Draw, shape: Shape) -> torch.Tensor:
    largest = draw.info.smallest_normal * (1 - draw.info.eps)
    return draw.uniform(shape).mul_(largest).mul_(draw.sign(shape))


def power_of_two_edges(extent: int) -> list[int]:
    """Both sides of every power of two from 4 up: where tails of vector loops begin.

    >>> power_of_two_edges(17)
    [3, 4, 7, 8, 15, 16]
    """
    powers = [2**k for k in range(2, extent.bit_length() + 1)]
    edges = [at for power in powers for at in (power - 1, power) if at < extent]
    return edges or [extent // 2]


def _spikes_at(indices: Callable[[int], list[int]]) -> Callable[[_Draw, Shape], torch.Tensor]:
    """Normal values with huge ones at the given indices of every axis that may be reduced.

    That is every axis of more than one element, since a task does not say which it reduces. Every
    line along the last axis gets its spikes, as most reductions run there. Of the lines along
    another axis a random eighth does, and one at least: with all of them the spiked slabs would
    fill whole rows, and a row of nothing but spikes has none.
    """

    def spiked(draw: _Draw, shape: Shape) -> torch.Tensor:
        values = draw.normal(shape)
        height = min(_LARGEST_SPIKE, draw.info.max / 4)
        for axis in range(values.dim()) if values.numel() else ():
            if values.shape[axis] == 1:
                continue
            share = 1.0 if axis == values.dim() - 1 else _OFF_AXIS_SHARE
            for index in indices(values.shape[axis]):
                slab = values.select(axis, index)
                heights = draw.sign(slab.shape).mul_(height)
                slab.copy_(torch.where(draw.some(slab.shape, share), heights, slab))
        return values

    return spiked


_DATA: dict[Distribution, Callable[[_Draw, Shape], torch.Tensor]] = {
    Distribution.NORMAL: _Draw.normal,
    Distribution.WIDE: _wide,
    Distribution.OFFSET: _offset,
    Distribution.OUTLIERS: _outliers,
    Distribution.TINY_VARIANCE: _tiny_variance,
    Distribution.SPIKE_FIRST: _spikes_at(lambda extent: [0]),
    Distribution.SPIKE_LAST: _spikes_at(lambda extent: [extent - 1]),
    Distribution.SPIKE_EDGE: _spikes_at(power_of_two_edges),
    Distribution.ZEROS: lambda draw, shape: draw.full(shape, 0.0),
    Distribution.ONES: lambda draw, shape: draw.full(shape, 1.0),
    Distribution.TIES: lambda draw, shape: draw.pick(shape, (-1.0, -0.5, 0.0, 0.5, 1.0)),
    Distribution.DENORMAL: _denormal,
}
