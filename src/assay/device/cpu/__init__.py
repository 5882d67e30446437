"""The cpu device: real kernels, real timings, no GPU."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from assay.device.cpu.properties import last_level_cache_bytes
from assay.device.environment import processor_name
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners import Target
from assay.device.runners.device import TurnWatch
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import slots_for
from assay.device.runners.memory import Memory
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.spec.sample import Disturbance

__all__ = ["CpuDevice", "open_device"]

ARENA_BYTES = 192 << 20
# What a solution may add to the memory that torch and the arena take.
_MEMORY_BYTES = 3 << 30
_MOST_WAITING = 0.01
"""A batch whose runner waited for its core longer than this share of it is disturbed."""

_TOUCHES = 24
"""Inputs that change in the middle of a batch: of more calls, this many drawn by lot."""
_HIDDEN_US = 40.0
"""Work that can still be done after the ring and before all slots have been looked at."""
_TRAITS = {
    # Resolution: half of what a batch can hide, so that the floor, which is two ticks of the
    # shorter side's batch at least, is never below what a hostile runner could gain by it.
    Lane.THROUGHPUT: LaneTraits(
        batch_seconds=0.010, warm_launches=3, turn_seconds=0.004, resolution=_HIDDEN_US / 2e6
    ),
    # Here what the referee's polling loop adds, about half a microsecond on a Neoverse-N1.
    Lane.LATENCY: LaneTraits(
        batch_seconds=0.0, warm_launches=3, turn_seconds=0.004, resolution=5e-7
    ),
}


class CpuDevice(RunnerDevice):
    """One thread a side, in turns on one core."""

    def __init__(self, *, isolate: bool = True, without: Sequence[str] = ()) -> None:
        super().__init__(isolate=isolate, without=without)
        self._cache_bytes = last_level_cache_bytes()

    @property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(
            kind="cpu",
            name=f"{processor_name()}, one thread",
            cache_bytes=self._cache_bytes,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )

    @property
    def target(self) -> Target:
        return Target("cpu")

    @property
    def torch_device(self) -> str:
        return "cpu"

    @property
    def labels(self) -> tuple[str, ...]:
        return ("one thread a side",)

    @property
    def lanes(self) -> Sequence[Lane]:
        return tuple(_TRAITS)

    def traits(self, lane: Lane) -> LaneTraits:
        if lane not in _TRAITS:
            raise UsageError(f"the cpu device has no {lane} lane")
        return _TRAITS[lane]

    def new_memory(self) -> Memory:
        return HostMemory(ARENA_BYTES, "assay-arena")

    def runner_request(self) -> dict[str, Any]:
        return {"device": "cpu", "memory_bytes": ARENA_BYTES + _MEMORY_BYTES}

    def slots_for(self, source: RowSource, wanted: int, lane: Lane) -> int:
        return slots_for(source.function, source.row, wanted, self._cache_bytes, ARENA_BYTES)

    def most_touches(self, lane: Lane) -> int:
        return _TOUCHES

    def watch(self, process: RunnerProcess) -> TurnWatch:
        return _QueueWatch(process)


class _QueueWatch(TurnWatch):
    """How long a runner stood in line for its core, as the kernel counts."""

    def __init__(self, process: RunnerProcess) -> None:
        self._runner = process.runner
        self._waited = 0

    def begin(self) -> None:
        # From here on: waking up takes a while too, and is not part of the batch.
        self._waited = self._runner.waited_nanoseconds()

    def end(self, nanoseconds: int) -> tuple[tuple[Disturbance, ...], int | None]:
        waited = self._runner.waited_nanoseconds() - self._waited
        disturbed = waited > _MOST_WAITING * nanoseconds
        return ((Disturbance.FOREIGN_WORK,) if disturbed else ()), None


def open_device(index: int) -> CpuDevice:
    if index:
        raise UsageError(f"there is one cpu device, not {index + 1}")
    return CpuDevice()
