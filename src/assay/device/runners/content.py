"""Content: what the slots of a row hold, new for every batch.

A pool of values per argument is made once; each batch copies from it at an offset that is drawn
then, so the same bytes practically never stand at the same address twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from assay.device.runners.bits import same_bits
from assay.device.runners.layout import Place
from assay.device.runners.layout import RowLayout
from assay.device.runners.views import Views
from assay.spec.task import Function
from assay.spec.workload import Row

_STEP = 997
"""Elements by which the content of one slot is shifted against the next."""
_OFFSETS = 1 << 18

Contents = Mapping[str, torch.Tensor | None]


@dataclass(frozen=True)
class RowSource:
    """A row, and a function that makes content for all its inputs."""

    function: Function
    row: Row
    fresh: Callable[[], Contents]


class Pools:
    """Values for every argument that is filled anew, long enough for all slots."""

    def __init__(self, source: RowSource, layout: RowLayout) -> None:
        self._layout = layout
        self._pools = {
            place.argument.name: _pool(source, place, layout.slots) for place in layout.filled()
        }
        self._offset = 0

    def refresh(self, views: Views, window: slice, *, anew: bool = True) -> None:
        """New content in the slots of a window."""
        self._offset = secrets.randbelow(_OFFSETS) if anew else 0
        for place in self._layout.filled():
            views.storage(place)[window].copy_(self._lines(place)[window])

    def unchanged(self, views: Views, slot: int, place: Place) -> bool:
        """Whether an input still holds, bit for bit, what the last refresh wrote."""
        return same_bits(views.storage(place)[slot], self._lines(place)[slot])

    def written(self, place: Place, slot: int) -> torch.Tensor:
        """What the last refresh wrote into an argument, as its tensor."""
        line = self._lines(place)[slot].clone()
        strides = place.tensor.strides or place.tensor.contiguous_strides
        return line.as_strided(place.tensor.shape, strides, place.tensor.offset)

    def _lines(self, place: Place) -> torch.Tensor:
        pool = self._pools[place.argument.name]
        size = (self._layout.slots, place.tensor.storage_elements)
        return pool.as_strided(size, (_STEP, 1), self._offset)


def _pool(source: RowSource, place: Place, slots: int) -> torch.Tensor:
    needed = place.tensor.storage_elements + slots * _STEP + _OFFSETS
    parts: list[torch.Tensor] = []
    have = 0
    while have < needed:
        part = source.fresh()[place.argument.name]
        assert part is not None
        flat = part.reshape(-1)
        if flat.numel() == 0:
            return torch.zeros(needed, dtype=flat.dtype, device=flat.device)
        # A tiny tensor is repeated in random order rather than made a million times over.
        if flat.numel() * 64 < needed - have:
            flat = flat[torch.randint(flat.numel(), (flat.numel() * 64,))]
        parts.append(flat)
        have += flat.numel()
    return torch.cat(parts)
