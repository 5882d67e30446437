"""HostMemory: a nameless shared-memory file."""

from __future__ import annotations

import mmap
import os

import torch

from assay.device.runners.memory import Memory


class HostMemory(Memory):
    """Nothing to be found in /dev/shm, nothing left behind."""

    def __init__(self, size: int, name: str) -> None:
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, size)
        self.map = mmap.mmap(self.descriptor, size)
        self.size = size
        self.flat = torch.frombuffer(self.map, dtype=torch.uint8)

    def read(self, start: int, count: int) -> bytes:
        return self.map[start : start + count]

    def write(self, start: int, data: bytes) -> None:
        self.map[start : start + len(data)] = data

    def close(self) -> None:
        # The mapping goes when the last view of it does; views may outlive this call.
        os.close(self.descriptor)
