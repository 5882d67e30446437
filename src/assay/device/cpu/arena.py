"""Arena: memory that belongs to the referee and that a runner maps."""

from __future__ import annotations

import mmap
import os
import secrets
from dataclasses import dataclass

import torch

from assay.device.cpu.layout import GUARD
from assay.device.cpu.layout import Place
from assay.device.cpu.layout import RowLayout
from assay.runner.tensors import torch_tensor


class Arena:
    """A nameless shared-memory file: nothing to be found in /dev/shm, nothing left behind."""

    def __init__(self, size: int, name: str) -> None:
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)
        self.size = size
        self.bytes = torch.frombuffer(self.memory, dtype=torch.uint8)

    def close(self) -> None:
        # The mapping goes when the last view of it does; views may outlive this call.
        os.close(self.descriptor)


@dataclass(frozen=True)
class Poison:
    """A byte that nobody can foresee, wherever a solution must not write or has not written."""

    byte: int

    @classmethod
    def fresh(cls) -> Poison:
        return cls(1 + secrets.randbelow(254))


class Views:
    """The referee's own tensors over one row's places in one arena."""

    def __init__(self, arena: Arena, layout: RowLayout) -> None:
        self._arena = arena
        self.layout = layout

    def tensor(self, place: Place, slot: int) -> torch.Tensor:
        return torch_tensor(self._arena.memory, place.description(), self.layout.start(place, slot))

    def storage(self, place: Place) -> torch.Tensor:
        """All slots of one argument as a matrix of storage elements, one slot a line."""
        dtype: torch.dtype = getattr(torch, place.tensor.dtype.value)
        start = self.layout.start(place, 0)
        flat = self._arena.bytes[start : self.layout.bytes]
        flat = flat[: flat.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        slots = 1 if place.argument.constant else self.layout.slots
        step = self.layout.slot_bytes // dtype.itemsize
        return flat.as_strided((slots, place.tensor.storage_elements), (step, 1))

    def poison(self, poison: Poison, window: slice) -> None:
        """Every byte of a window's slots: guards, outputs, gaps. Content is written afterwards."""
        begin = self.layout.first_slot + window.start * self.layout.slot_bytes
        end = self.layout.first_slot + window.stop * self.layout.slot_bytes
        self._arena.bytes[begin:end].fill_(poison.byte)
        for place in self.layout.constants():
            self._guards(place, 0)[0].fill_(poison.byte)
            self._guards(place, 0)[1].fill_(poison.byte)

    def _guards(self, place: Place, slot: int) -> tuple[torch.Tensor, torch.Tensor]:
        start = self.layout.start(place, slot)
        end = start + place.storage_bytes
        return self._arena.bytes[start - GUARD : start], self._arena.bytes[end : end + GUARD]

    def broken_guard(self, slot: int, poison: Poison) -> str | None:
        """The argument whose guard band has been written in a slot, if any."""
        # Neighbours share the band between them; the one that may be written is the likelier.
        written = self.layout.written()
        others = [place for place in self.layout.places.values() if place not in written]
        for place in (*written, *others):
            if any(not bool((guard == poison.byte).all()) for guard in self._guards(place, slot)):
                return place.argument.name
        return None

    def untouched(self, slot: int, poison: Poison) -> bool:
        """Whether a slot's outputs still hold nothing but poison."""
        return all(
            bool((self._raw(place, slot) == poison.byte).all()) for place in self.layout.outputs()
        )

    def looks_unwritten(self, slot: int, poison: Poison, probes: int = 32) -> bool:
        """Whether random bytes of an output are all poison: the call did not happen yet.

        In-place arguments have content before the call, so only pure outputs tell.
        """
        for place in self.layout.outputs():
            raw = self._raw(place, slot)
            if raw.numel() and bool(
                (raw[torch.randint(raw.numel(), (probes,))] == poison.byte).all()
            ):
                return True
        return False

    def _raw(self, place: Place, slot: int) -> torch.Tensor:
        start = self.layout.start(place, slot)
        return self._arena.bytes[start : start + place.storage_bytes]
