"""Layouts: how a tensor of a hidden row lies in memory."""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.workload import TensorSpec

_PADS = (1, 3, 8, 64)
_CHUNKS = (2, 3, 6)


def laid_out(
    shape: tuple[int, ...], dtype: DType, layout: Layout, rng: random.Random
) -> TensorSpec:
    """A tensor of that layout; contiguous where its shape leaves no other, as with one element."""
    if layout is Layout.MISALIGNED:
        return TensorSpec(shape=shape, dtype=dtype, offset=1)
    if layout is Layout.BROADCAST:
        return TensorSpec(shape=shape, dtype=dtype, strides=_broadcast(shape, rng))
    if layout is Layout.STRIDED:
        return TensorSpec(shape=shape, dtype=dtype, strides=_strided(shape, rng))
    if layout is Layout.CHUNK:
        return TensorSpec(shape=shape, dtype=dtype, strides=_chunk(shape, rng))
    return TensorSpec(shape=shape, dtype=dtype)


def _chunk(shape: tuple[int, ...], rng: random.Random) -> tuple[int, ...] | None:
    """As one of two, three or six parts that were computed side by side."""
    if all(extent == 1 for extent in shape[:-1]):
        return None
    return _steps((*shape[:-1], shape[-1] * rng.choice(_CHUNKS)))


def _strided(shape: tuple[int, ...], rng: random.Random) -> tuple[int, ...] | None:
    """Rows apart from each other, or the last two axes in the other order; every second element."""
    if not shape:
        return None
    if len(shape) == 1:
        return (2,)
    if rng.random() < 0.5:
        return _steps((*shape[:-1], shape[-1] + rng.choice(_PADS)))
    steps = _steps((*shape[:-2], shape[-1], shape[-2]))
    return (*steps[:-2], steps[-1], steps[-2])


def _broadcast(shape: tuple[int, ...], rng: random.Random) -> tuple[int, ...] | None:
    wide = [axis for axis, extent in enumerate(shape) if extent > 1]
    if not wide:
        return None
    repeated = rng.choice(wide)
    steps = list(_steps([1 if axis == repeated else n for axis, n in enumerate(shape)]))
    steps[repeated] = 0
    return tuple(steps)


def _steps(shape: Sequence[int]) -> tuple[int, ...]:
    return TensorSpec(shape=tuple(shape), dtype=DType.FLOAT32).contiguous_strides
