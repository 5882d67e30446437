"""Content: what the slots of a row hold, new for every batch.

A pool of values per argument is made once; each batch copies from it at an offset that is drawn
then, so the same bytes practically never stand at the same address twice. A few values of a slot
may be changed in the middle of a batch, which is remembered here.
"""

from __future__ import annotations

import random
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
        self._changes: dict[tuple[str, int], list[tuple[int, bytes]]] = {}

    def refresh(self, views: Views, window: slice, *, anew: bool = True) -> None:
        """New content in the slots of a window."""
        self._offset = secrets.randbelow(_OFFSETS) if anew else 0
        self._changes.clear()
        for place in self._layout.filled():
            views.storage(place)[window].copy_(self._lines(place)[window])

    def draw(self, place: Place, count: int, lot: random.Random) -> bytes:
        """So many bytes of values for an argument."""
        pool = self._pools[place.argument.name]
        elements = -(-count // pool.itemsize)
        start = lot.randrange(pool.numel() - elements + 1)
        return pool[start : start + elements].cpu().view(torch.uint8).numpy().tobytes()[:count]

    def change(self, place: Place, slot: int, offset: int, data: bytes) -> None:
        """Somebody puts these bytes there, so far from the storage's start."""
        self._changes.setdefault((place.argument.name, slot), []).append((offset, data))

    def unchanged(self, views: Views, slot: int, place: Place) -> bool:
        """Whether an input still holds, bit for bit, what was put there."""
        return same_bits(views.storage(place)[slot], self._line(place, slot))

    def written(self, place: Place, slot: int, shift: int = 0) -> torch.Tensor:
        """What was put into an argument, as its tensor."""
        strides = place.tensor.strides or place.tensor.contiguous_strides
        first = shift * place.shift_bytes // place.tensor.dtype.itemsize + place.tensor.offset
        return self._line(place, slot).as_strided(place.tensor.shape, strides, first)

    def _line(self, place: Place, slot: int) -> torch.Tensor:
        line = self._lines(place)[slot].clone()
        raw = line.view(torch.uint8)
        for offset, data in self._changes.get((place.argument.name, slot), ()):
            new = torch.frombuffer(bytearray(data), dtype=torch.uint8)
            raw[offset : offset + len(data)] = new.to(raw.device)
        return line

    def _lines(self, place: Place) -> torch.Tensor:
        pool = self._pools[place.argument.name]
        size = (self._layout.slots, _elements(place))
        return pool.as_strided(size, (_STEP, 1), self._offset)


def _elements(place: Place) -> int:
    return place.room_bytes // place.tensor.dtype.itemsize


def _pool(source: RowSource, place: Place, slots: int) -> torch.Tensor:
    needed = _elements(place) + slots * _STEP + _OFFSETS
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
