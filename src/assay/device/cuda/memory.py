"""GpuMemory: device memory that a runner maps by a descriptor."""

from __future__ import annotations

import ctypes
import os

import torch

from assay.device.runners.memory import Bytes
from assay.device.runners.memory import Memory
from assay.runner.machine import device_bytes
from assay.wire.gpu_memory import Driver

_STAGE_BYTES = 256 << 10
_DIRECT_BYTES = 32 << 10
"""Fewer bytes in a row are not written by the copy engine but by a command to the multiprocessors,
which waits for its turn while another process computes: milliseconds, where the engine takes
microseconds. Two lines that lie apart always go by the engine."""


class GpuMemory(Memory):
    """Reads and writes go by the copy engine: they see what is there while another process
    computes, and do not take the device from it, as a kernel of ours would that has to wait for
    its turn."""

    def __init__(self, driver: Driver, size: int) -> None:
        self._driver = driver
        self._mapped, self.descriptor = driver.allocate(size)
        self.size = self._mapped.size
        self.flat = device_bytes(self._mapped.address, self.size)
        self._stage = torch.empty(_STAGE_BYTES, dtype=torch.uint8, pin_memory=True)
        self._stream = torch.cuda.Stream()

    def read(self, start: int, count: int) -> bytes:
        data = ctypes.create_string_buffer(count)
        self._driver.call(
            "MemcpyDtoH_v2",
            data,
            ctypes.c_ulonglong(self._mapped.address + start),
            ctypes.c_size_t(count),
        )
        return data.raw

    def column(self, start: int, width: int, pitch: int, count: int) -> Bytes:
        if width * count > _STAGE_BYTES:
            raise ValueError(f"{width * count} bytes at once, more than {_STAGE_BYTES}")
        source = self._mapped.address + start
        self._driver.read_lines(self._stage.data_ptr(), source, width, pitch, count)
        lines: Bytes = self._stage[: width * count].view(count, width).numpy().copy()
        return lines

    def write(self, start: int, data: bytes) -> None:
        if len(data) > _STAGE_BYTES:
            raise ValueError(f"{len(data)} bytes at once, more than {_STAGE_BYTES}")
        target = self._mapped.address + start
        stream = ctypes.c_void_p(self._stream.cuda_stream)
        if len(data) >= _DIRECT_BYTES or len(data) % 2:
            ctypes.memmove(self._stage.data_ptr(), data, len(data))
            self._driver.call(
                "MemcpyHtoDAsync_v2",
                ctypes.c_ulonglong(target),
                ctypes.c_void_p(self._stage.data_ptr()),
                ctypes.c_size_t(len(data)),
                stream,
            )
        else:
            half, pitch = len(data) // 2, _STAGE_BYTES // 2
            for line in range(2):
                at = self._stage.data_ptr() + line * pitch
                ctypes.memmove(at, data[line * half : (line + 1) * half], half)
            self._driver.write_lines(target, self._stage.data_ptr(), half, pitch, 2, stream)
        self._driver.call("StreamSynchronize", stream)

    def close(self) -> None:
        os.close(self.descriptor)
        self._driver.release(self._mapped)
