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


class GpuMemory(Memory):
    """Reads go by the copy engine: they see what is there while another process computes, and do
    not take the device from it, as a kernel of ours would that has to wait for its turn."""

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
        ctypes.memmove(self._stage.data_ptr(), data, len(data))
        stream = ctypes.c_void_p(self._stream.cuda_stream)
        self._driver.call(
            "MemcpyHtoDAsync_v2",
            ctypes.c_ulonglong(self._mapped.address + start),
            ctypes.c_void_p(self._stage.data_ptr()),
            ctypes.c_size_t(len(data)),
            stream,
        )
        self._driver.call("StreamSynchronize", stream)

    def close(self) -> None:
        os.close(self.descriptor)
        self._driver.release(self._mapped)
