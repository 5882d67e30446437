"""The cuda device: runners take turns on one GPU, on memory that the referee lends them."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from typing import Any
from typing import Self

import torch

from assay.device.cuda.memory import GpuMemory
from assay.device.cuda.probes import Flush
from assay.device.cuda.probes import FreeDevice
from assay.device.cuda.probes import check_health
from assay.device.cuda.probes import measure_rates
from assay.device.cuda.properties import read_properties
from assay.device.cuda.watch import DeviceState
from assay.device.cuda.watch import Watch
from assay.device.failure import violation
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners import Target
from assay.device.runners.cores import QuietCore
from assay.device.runners.device import TurnWatch
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import lay_out
from assay.device.runners.layout import rotated_slots
from assay.device.runners.memory import Memory
from assay.device.runners.turn import FEWEST_SLOTS
from assay.device.runners.turn import LEAST_SLOTS
from assay.device.runners.zygote import RunnerHandle
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.spec.sample import Disturbance
from assay.spec.status import ViolationKind
from assay.wire.gpu_memory import Driver

__all__ = ["CudaDevice", "open_device"]

_HIDDEN_US = 300.0
"""Work that can still be running when a batch is closed, and not be seen."""
_HIDDEN_FROM_READ_US = 15.0
"""How long work can stay hidden from a read-back by the copy engine."""
_BATCH_SECONDS = 0.060
"""So that what a batch can hide is half a percent of it, the least that is called a difference.
Longer ones would meet more of what disturbs a shared host."""
_DEVICE_BATCH_SECONDS = 0.100
"""Where the device sets the pace that is no matter, and less is spent between batches."""
_TRAITS = {
    # Resolution: half of what a batch can hide (_HIDDEN_US), so that the floor, which is two ticks
    # of the shorter side's batch at least, is never below what a hostile runner could gain by it.
    Lane.THROUGHPUT: LaneTraits(
        batch_seconds=_BATCH_SECONDS,
        device_batch_seconds=_DEVICE_BATCH_SECONDS,
        warm_launches=64,
        warm_seconds=0.005,
        turn_seconds=0.020,
        resolution=_HIDDEN_US / 2e6,
    ),
    Lane.LATENCY: LaneTraits(
        batch_seconds=0.004,
        warm_launches=64,
        warm_seconds=0.005,
        turn_seconds=0.020,
        resolution=1e-6,
        hidden_seconds=_HIDDEN_FROM_READ_US / 1e6,
    ),
    Lane.GRAPH: LaneTraits(
        batch_seconds=_BATCH_SECONDS,
        device_batch_seconds=_DEVICE_BATCH_SECONDS,
        warm_launches=16,
        warm_seconds=0.005,
        turn_seconds=0.020,
        resolution=_HIDDEN_US / 2e6,
    ),
    Lane.EVENTS: LaneTraits(
        batch_seconds=0.020,
        warm_launches=64,
        warm_seconds=0.005,
        turn_seconds=0.020,
        resolution=1e-6,
    ),
    Lane.DEVICE: LaneTraits(
        batch_seconds=0.002,
        warm_launches=64,
        warm_seconds=0.005,
        turn_seconds=0.100,
        resolution=1e-6,
    ),
}
_USUAL_ARENA = 16 << 30
"""Of a runner; more only where a row needs it."""
_KEPT_FREE = 4
"""Of the free memory one part of so many is the referee's own."""
_LEAST_ARENA = 1 << 30
_ROTATION_BYTES = 4 << 30
"""What the slots of a large row are together: a cache holds a small part of it, and there are so
many calls from one of a slot to its next that the referee can keep up with seeing them made."""
_GRAPH_CALLS = 16
"""In one graph, so that its launch is a small part of it."""
_HOST_BYTES = 24 << 30
"""What a solution may add to the host memory that torch takes."""
_TOUCHES_OF_SINGLES = 48
_TOUCHES = 6
"""Of a batch that is not paused: each keeps the next call back by a copy of a few bytes."""
_LATE_TURNS = 3
"""Of one process: once may be an accident of the host."""
_TRIAL_TURNS = 15
_TRIAL_LAUNCHES = 64


class CudaDevice(RunnerDevice):
    queues_calls = True

    def __init__(self, index: int = 0, *, rocm: bool = False, isolate: bool = True) -> None:
        super().__init__(isolate=isolate)
        self._rocm = rocm
        self.properties = read_properties(index, rocm=rocm)
        self._live: set[int] = set()
        self._late: dict[int, int] = {}
        self._free_us = 0.0
        self._quiet: QuietCore | None = None
        self._probes: _Probes | None = None
        self._arena = 0

    @property
    def identity(self) -> DeviceIdentity:
        return self.properties.identity

    @property
    def target(self) -> Target:
        return Target(self.properties.kind, self.properties.arch)

    @property
    def torch_device(self) -> str:
        return f"cuda:{self.properties.index}"

    @property
    def preloaded(self) -> tuple[str, ...]:
        return ("triton", "triton.language")

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self._probes is None else self._probes.watch.labels()

    @property
    def lanes(self) -> Sequence[Lane]:
        return tuple(_TRAITS)

    def traits(self, lane: Lane) -> LaneTraits:
        return _TRAITS[lane]

    @property
    def peak_bytes_per_second(self) -> float | None:
        return self.properties.peak_bytes_per_second

    # -- memory

    @property
    def arena_bytes(self) -> int:
        """Of each runner: fixed when the first of them starts, for the largest row of all."""
        if not self._arena:
            self._opened()
            free_bytes, _ = torch.cuda.mem_get_info()
            largest = max((_least_bytes(source) for source in self.rows.values()), default=0)
            most = free_bytes // _KEPT_FREE * (_KEPT_FREE - 1) // self.at_once
            self._arena = min(max(_USUAL_ARENA, largest), most) >> 21 << 21
            if self._arena < _LEAST_ARENA:
                raise UnavailableError(
                    f"{free_bytes >> 20} MiB are free on the device, too little to judge there",
                    next_step="end what holds its memory; nvidia-smi lists it",
                )
        return self._arena

    def new_memory(self) -> Memory:
        return GpuMemory(self._opened().driver, self.arena_bytes)

    def runner_request(self) -> dict[str, Any]:
        return {
            "device": self.properties.kind,
            "index": self.properties.index,
            "arena_bytes": self.arena_bytes,
            "memory_bytes": _HOST_BYTES,
        }

    def slots_for(self, source: RowSource, wanted: int, lane: Lane) -> int:
        return rotated_slots(
            source.function,
            source.row,
            wanted,
            least_bytes=3 * self.properties.l2_bytes,
            usual_bytes=min(_ROTATION_BYTES, self.arena_bytes),
            fewest=FEWEST_SLOTS,
            least=LEAST_SLOTS,
            most_bytes=self.arena_bytes,
        )

    def calls_a_launch(self, lane: Lane, slots: int) -> int:
        return max(1, min(_GRAPH_CALLS, slots // FEWEST_SLOTS)) if lane is Lane.GRAPH else 1

    # -- turns

    def most_touches(self, lane: Lane) -> int:
        return _TOUCHES_OF_SINGLES if lane is Lane.LATENCY else _TOUCHES

    def _started(
        self, program: Program, runner: RunnerHandle, bell: HostMemory, memory: Memory
    ) -> RunnerProcess:
        process = super()._started(program, runner, bell, memory)
        self._live.add(runner.pid)
        return process

    def give_back(self, process: RunnerProcess, bell: HostMemory, memory: Memory) -> None:
        self._live.discard(process.runner.pid)
        self._late.pop(process.runner.pid, None)
        super().give_back(process, bell, memory)

    def settle(self, runner: RunnerHandle) -> tuple[float, ...]:
        if self._quiet is None:
            return ()
        found = self._quiet.settle()
        runner.move_to(self._quiet.core)
        return (found,)

    def pace(self) -> tuple[float, ...]:
        return () if self._quiet is None else (self._quiet.slowness(self._quiet.core),)

    def hand_over(self) -> None:
        self._opened().flush.run()
        torch.cuda.synchronize()

    def watch(self, process: RunnerProcess) -> TurnWatch:
        return _Turn(self, process)

    def calibrate(self, idle: RunnerProcess, row: str) -> None:
        """What a turn costs that does nothing, and when the device is usually free after one that
        did something: it then changes over from the runner to the referee."""
        probes = self._opened()
        for lane in (Lane.THROUGHPUT, Lane.LATENCY):
            taken = [idle.time_nothing(row, lane, 1) for _ in range(_TRIAL_TURNS)]
            self.empty_ns[lane] = int(statistics.median(taken))
        free = []
        for _ in range(_TRIAL_TURNS):
            idle.time(row, Lane.THROUGHPUT, _TRIAL_LAUNCHES, _TRIAL_LAUNCHES)
            free.append(self._free_us)
        probes.free.usual_us = statistics.median(free)

    def state(self) -> DeviceState:
        return self._opened().watch.state()

    def judge_turn(
        self, process: RunnerProcess, before: DeviceState, after: DeviceState
    ) -> tuple[Disturbance, ...]:
        """What disturbed a turn; raises when a process keeps leaving work behind."""
        probes = self._opened()
        ours = {os.getpid(), *self._live}
        found = probes.watch.compare(before, after, ours, held=len(ours))
        self._free_us = probes.free.microseconds()
        late = self._free_us - probes.free.usual_us
        if not probes.free.usual_us or late <= _HIDDEN_US:
            return found
        pid = process.runner.pid
        self._late[pid] = self._late.get(pid, 0) + 1
        if self._late[pid] >= _LATE_TURNS:
            raise violation(
                ViolationKind.EARLY_RING, f"the device was busy for {late:.0f} µs after it rang"
            )
        return tuple(dict.fromkeys((*found, Disturbance.FOREIGN_WORK)))

    def report(self) -> dict[str, Any]:
        probes = self._opened()
        return {
            "properties": {
                "sms": self.properties.sms,
                "l2_bytes": self.properties.l2_bytes,
                "arch": self.properties.arch,
                "arena_bytes": self._arena,
            },
            "flush": probes.shown,
            "rates": probes.rates,
            "empty_ns": {lane.value: value for lane, value in self.empty_ns.items()},
            "free_after_turn_us": probes.free.usual_us,
            "states": probes.watch.summary(),
        }

    def _opened(self) -> _Probes:
        if self._probes is None:
            raise UsageError("the device is not open", next_step="use it in a with statement")
        return self._probes

    def close(self) -> None:
        super().close()
        self._probes = None
        self._arena = 0

    def __enter__(self) -> Self:
        self._quiet = None if self._cores.shared else QuietCore.among(self._cores)
        super().__enter__()  # the zygote is started first: CUDA does not survive a fork
        torch.cuda.set_device(self.properties.index)
        self._probes = _Probes(self)
        return self


def _least_bytes(source: RowSource) -> int:
    """Of the fewest slots that a row is timed with."""
    return (lay_out(source.function, source.row, FEWEST_SLOTS).bytes >> 21) + 1 << 21


class _Probes:
    """What exists while a device is open."""

    def __init__(self, device: CudaDevice) -> None:
        properties = device.properties
        check_health()
        self.driver = Driver(properties.index, rocm=properties.kind == "rocm")
        self.watch = Watch(properties)
        self.flush = Flush(self.driver, properties.l2_bytes)
        self.free = FreeDevice()
        self.shown = self.flush.shown()
        self.rates = measure_rates(properties.l2_bytes)
        torch.cuda.empty_cache()


class _Turn(TurnWatch):
    """The state of the device before and after a batch, and whether it was left free."""

    def __init__(self, device: CudaDevice, process: RunnerProcess) -> None:
        self._device = device
        self._process = process
        self._before = DeviceState()

    def begin(self) -> None:
        self._before = self._device.state()

    def end(self, nanoseconds: int) -> tuple[tuple[Disturbance, ...], int | None]:
        after = self._device.state()
        found = self._device.judge_turn(self._process, self._before, after)
        return found, after.sm_mhz


def open_device(index: int) -> CudaDevice:
    return CudaDevice(index)
