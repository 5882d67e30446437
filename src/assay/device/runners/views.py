"""Views: the referee's own tensors over one row's places in one memory."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import torch

from assay.device.runners.layout import GUARD
from assay.device.runners.layout import Place
from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Memory

_FEWEST_BYTES = 32
"""Of fewer bytes an honest answer may happen to be all poison."""


@dataclass(frozen=True)
class Poison:
    """A byte that nobody can foresee, wherever a solution must not write or has not written."""

    byte: int

    @classmethod
    def fresh(cls) -> Poison:
        return cls(2 + secrets.randbelow(253))  # never a boolean's byte


class Views:
    def __init__(self, memory: Memory, layout: RowLayout) -> None:
        self._memory = memory
        self.layout = layout

    def tensor(self, place: Place, slot: int, shift: int = 0) -> torch.Tensor:
        """One argument of one slot, as a solution sees it."""
        spec = place.tensor
        dtype: torch.dtype = getattr(torch, spec.dtype.value)
        if place.storage_bytes == 0:
            return torch.empty(spec.shape, dtype=dtype, device=self._memory.flat.device)
        strides = spec.strides or spec.contiguous_strides
        return (
            self.raw(place, slot)
            .view(dtype)
            .as_strided(
                spec.shape,
                strides,
                (self.layout.start(place, slot) + shift * place.shift_bytes) // dtype.itemsize
                + spec.offset,
            )
        )

    def storage(self, place: Place) -> torch.Tensor:
        """All slots of one argument as a matrix of storage elements, one slot a line."""
        dtype: torch.dtype = getattr(torch, place.tensor.dtype.value)
        start = self.layout.start(place, 0)
        flat = self._memory.flat[start : self.layout.bytes]
        flat = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        slots = 1 if place.argument.constant else self.layout.slots
        step = self.layout.slot_bytes // dtype.itemsize
        return flat.as_strided((slots, place.room_bytes // dtype.itemsize), (step, 1))

    def poison(self, poison: Poison, window: slice) -> None:
        """Every byte of a window's slots: guards, outputs, gaps. Content is written afterwards."""
        begin = self.layout.first_slot + window.start * self.layout.slot_bytes
        end = self.layout.first_slot + window.stop * self.layout.slot_bytes
        self._memory.flat[begin:end].fill_(poison.byte)
        for place in self.layout.constants():
            self._guards(place, 0)[0].fill_(poison.byte)
            self._guards(place, 0)[1].fill_(poison.byte)

    def poison_outputs(self, poison: Poison, window: slice) -> None:
        """Outputs and all guards of a window's slots, where every other byte is about to be
        written anyway: half the memory of `poison`, which counts between two batches."""
        for place in self.layout.outputs():
            self._bytes(place, 0, place.storage_bytes)[window].fill_(poison.byte)
        for place in self.layout.places.values():
            slots = slice(0, 1) if place.argument.constant else window
            self._bytes(place, -GUARD, GUARD)[slots].fill_(poison.byte)
            self._bytes(place, place.room_bytes, GUARD)[slots].fill_(poison.byte)

    def _bytes(self, place: Place, offset: int, count: int) -> torch.Tensor:
        """So many bytes at an offset from a place's start, one slot a line."""
        slots = 1 if place.argument.constant else self.layout.slots
        start = self.layout.start(place, 0) + offset
        return self._memory.flat.as_strided((slots, count), (self.layout.slot_bytes, 1), start)

    def _guards(self, place: Place, slot: int) -> tuple[torch.Tensor, torch.Tensor]:
        start = self.layout.start(place, slot)
        end = start + place.room_bytes
        return self._memory.flat[start - GUARD : start], self._memory.flat[end : end + GUARD]

    def broken_guard(self, slot: int, poison: Poison) -> str | None:
        """The argument whose guard band has been written in a slot, if any."""
        # Neighbours share the band between them; the one that may be written is the likelier.
        written = self.layout.written()
        others = [place for place in self.layout.places.values() if place not in written]
        intact = bytes([poison.byte]) * GUARD
        for place in (*written, *others):
            start = self.layout.start(place, slot)
            for guard in (start - GUARD, start + place.room_bytes):
                if self._memory.read(guard, GUARD) != intact:
                    return place.argument.name
        return None

    def untouched(self, slot: int, poison: Poison) -> bool:
        """Whether a slot's outputs still hold nothing but poison."""
        return all(
            _is_filled(self.raw(place, slot), poison.byte) for place in self.layout.outputs()
        )

    def wholly_poisoned(self, slot: int, poison: Poison) -> bool:
        """Whether some output of a slot that was called is nothing but poison."""
        return any(
            _looks_filled(self.raw(place, slot), poison.byte)
            and _is_filled(self.raw(place, slot), poison.byte)
            for place in self.layout.outputs()
            if place.storage_bytes >= _FEWEST_BYTES
        )

    def raw(self, place: Place, slot: int) -> torch.Tensor:
        """The bytes of one argument in one slot."""
        start = self.layout.start(place, slot)
        return self._memory.flat[start : start + place.storage_bytes]


def _is_filled(raw: torch.Tensor, byte: int) -> bool:
    """Whether every byte is this one; eight at a time, since storages begin at multiples of 64."""
    whole = raw.numel() // 8 * 8
    eight = int.from_bytes(bytes([byte]) * 8, "little", signed=True)
    if whole:
        # Both ends in one pass and without a mask as large as the answer.
        least, most = torch.stack(torch.aminmax(raw[:whole].view(torch.int64))).tolist()
        if not least == most == eight:
            return False
    return bool((raw[whole:] == byte).all())


def _looks_filled(raw: torch.Tensor, byte: int) -> bool:
    """The same of a few bytes; false for nearly every output that was written."""
    step = max(1, raw.numel() // 64)
    return bool((raw[::step] == byte).all())
