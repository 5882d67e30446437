"""Machine: the device as a runner sees it, and the memory that it was lent there."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import Protocol

import torch

from assay.wire.gpu_memory import Driver

_POPULATE = 0x8000  # MAP_POPULATE: page faults happen now, not in the first batch

Call = Callable[[], object]


class Memory(Protocol):
    """Where a row's tensors lie."""

    address: int

    def tensor(self, spec: dict[str, Any], start: int) -> torch.Tensor:
        """The tensor that one argument is in one slot; `start` is the byte of its storage."""
        ...


class BytesMemory:
    """Memory that torch sees as one tensor of bytes."""

    def __init__(self, flat: torch.Tensor) -> None:
        self._flat = flat
        self._as: dict[torch.dtype, torch.Tensor] = {}
        self.address = flat.data_ptr()

    def tensor(self, spec: dict[str, Any], start: int) -> torch.Tensor:
        dtype: torch.dtype = getattr(torch, spec["dtype"])
        if spec["storage_bytes"] == 0:
            return torch.empty(spec["shape"], dtype=dtype, device=self._flat.device)
        if dtype not in self._as:
            whole = self._flat.numel() // dtype.itemsize * dtype.itemsize
            self._as[dtype] = self._flat[:whole].view(dtype)
        first = start // dtype.itemsize + spec["offset"]
        return self._as[dtype].as_strided(spec["shape"], spec["strides"], first)


class HostMachine:
    """The cpu: nothing is ever pending."""

    def __init__(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        self._map = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | _POPULATE)
        self.memory: Memory = BytesMemory(torch.frombuffer(self._map, dtype=torch.uint8))
        self.stream: int | None = None

    def synchronize(self) -> None:
        return

    def capture(self, calls: Sequence[Call]) -> Call:
        raise RuntimeError("the cpu has no graphs")


class GpuMachine:
    """A GPU: calls go to one stream that is not the default one, as a model's may."""

    def __init__(self, descriptor: int, size: int, index: int, *, rocm: bool = False) -> None:
        torch.cuda.set_device(index)
        torch.zeros(1, device="cuda")  # the context exists from here on
        mapped = Driver(index, rocm=rocm).import_memory(descriptor, size)
        self.memory: Memory = BytesMemory(device_bytes(mapped.address, mapped.size))
        self._stream = torch.cuda.Stream()
        torch.cuda.set_stream(self._stream)
        self.stream: int | None = self._stream.cuda_stream
        # Of the stream, not of the device: work that a solution put elsewhere and did not join is
        # not waited for, and will be found missing.
        self.synchronize: Callable[[], None] = self._stream.synchronize
        self._pool = torch.cuda.graph_pool_handle()

    def capture(self, calls: Sequence[Call]) -> Call:
        """These calls as one graph; calling it launches them all."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            for call in calls:
                call()
        replay: Call = graph.replay
        return replay


class _Raw:
    """Device memory by its address, for torch to take as it is."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def device_bytes(address: int, size: int) -> torch.Tensor:
    return torch.as_tensor(_Raw(address, size), device="cuda")


def open_machine(request: dict[str, Any], descriptor: int) -> HostMachine | GpuMachine:
    if request["device"] == "cpu":
        return HostMachine(descriptor)
    rocm = request["device"] == "rocm"
    return GpuMachine(descriptor, request["arena_bytes"], request["index"], rocm=rocm)


def option_values(row: dict[str, Any]) -> Any:
    """A row's options as the doubles that a native solution is given."""
    values = row["numbers"]
    return (ctypes.c_double * max(len(values), 1))(*values)
