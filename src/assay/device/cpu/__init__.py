"""The cpu device: real kernels, real timings, no GPU."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Self

from assay.device._base import Device
from assay.device.cpu.arena import Arena
from assay.device.cpu.content import Pools
from assay.device.cpu.content import RowSource
from assay.device.cpu.process import CpuProcess
from assay.device.cpu.program import CpuProgram
from assay.device.cpu.properties import choose_cores
from assay.device.cpu.properties import last_level_cache_bytes
from assay.device.cpu.zygote import RunnerHandle
from assay.device.cpu.zygote import Zygote
from assay.device.environment import processor_name
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.wire import doorbell

__all__ = ["CpuDevice", "CpuProcess", "CpuProgram", "RowSource", "open_device"]

ARENA_BYTES = 192 << 20

_TRAITS = {
    # Resolution: what the referee's polling loop adds, about half a microsecond on a Neoverse-N1.
    Lane.THROUGHPUT: LaneTraits(
        batch_seconds=0.010, warm_launches=3, turn_seconds=0.004, resolution=5e-7
    ),
    Lane.LATENCY: LaneTraits(
        batch_seconds=0.0, warm_launches=3, turn_seconds=0.004, resolution=5e-7
    ),
}


class CpuDevice(Device[CpuProgram]):
    """Runners take turns on one core; the referee has another where there are two."""

    def __init__(self, *, isolate: bool = True) -> None:
        self._cores = choose_cores()
        self._cache_bytes = last_level_cache_bytes()
        self._isolate = isolate
        self._zygote: Zygote | None = None
        self._free: list[tuple[Arena, Arena]] = []
        self._pools: dict[tuple[str, int], Pools] = {}
        self.rows: Mapping[str, RowSource] = {}
        """What each row's calls are made of; set before the first of them is timed."""

    @property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(
            kind="cpu",
            name=f"{processor_name()}, one thread",
            cache_bytes=self._cache_bytes,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )

    @property
    def lanes(self) -> Sequence[Lane]:
        return tuple(_TRAITS)

    def traits(self, lane: Lane) -> LaneTraits:
        if lane not in _TRAITS:
            raise UsageError(f"the cpu device has no {lane} lane")
        return _TRAITS[lane]

    def start(self, program: CpuProgram) -> CpuProcess:
        if self._zygote is None:
            raise UsageError("the cpu device is not open", next_step="use it in a with statement")
        bell, arena = self._free.pop() if self._free else _shared_memory()
        runner = self._zygote.start(
            bell.descriptor, arena.descriptor, arena.size, {self._cores.runner}
        )
        bell.bytes.zero_()
        try:
            return _Borrowing(self, program, runner, bell, arena)
        except BaseException:
            runner.stop()
            self._free.append((bell, arena))
            raise

    @contextlib.contextmanager
    def referee_core(self) -> Iterator[None]:
        """Keep this process off the runners' core for as long as it measures."""
        allowed = os.sched_getaffinity(0)
        if not self._cores.shared:
            os.sched_setaffinity(0, allowed - {self._cores.runner})
        try:
            yield
        finally:
            os.sched_setaffinity(0, allowed)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
        for bell, arena in self._free:
            bell.close()
            arena.close()
        self._free.clear()

    def __enter__(self) -> Self:
        self._zygote = Zygote(isolate=self._isolate)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Borrowing(CpuProcess):
    """A process that gives its shared memory back to the device when it stops."""

    def __init__(
        self,
        device: CpuDevice,
        program: CpuProgram,
        runner: RunnerHandle,
        bell: Arena,
        arena: Arena,
    ) -> None:
        self._device = device
        self._memory: tuple[Arena, Arena] | None = (bell, arena)
        super().__init__(
            program, device.rows, runner, bell, arena, device._cache_bytes, device._pools
        )

    def stop(self) -> None:
        super().stop()
        if self._memory is not None:
            self._device._free.append(self._memory)
            self._memory = None


def _shared_memory() -> tuple[Arena, Arena]:
    return Arena(doorbell.SIZE, "assay-bell"), Arena(ARENA_BYTES, "assay-arena")


def open_device(index: int) -> CpuDevice:
    if index:
        raise UsageError(f"there is one cpu device, not {index + 1}")
    return CpuDevice()
