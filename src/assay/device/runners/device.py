"""RunnerDevice: a device that judges, by lending its memory to runners in turns."""

from __future__ import annotations

import abc
import contextlib
import os
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Self

import torch

from assay.device._base import HOST_PACED
from assay.device._base import Device
from assay.device.runners.content import Pools
from assay.device.runners.content import RowSource
from assay.device.runners.cores import choose_cores
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Memory
from assay.device.runners.process import RunnerProcess
from assay.device.runners.program import Program
from assay.device.runners.rest import Rest
from assay.device.runners.rest import Unrest
from assay.device.runners.target import Target
from assay.device.runners.zygote import RunnerHandle
from assay.device.runners.zygote import Zygote
from assay.runner.sandbox import PARTS
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.sample import Disturbance
from assay.wire import doorbell


class TurnWatch(abc.ABC):
    """Looks at a device around one batch."""

    @abc.abstractmethod
    def begin(self) -> None:
        """The warm calls are done; the clock is about to start."""

    @abc.abstractmethod
    def end(self, nanoseconds: int) -> tuple[tuple[Disturbance, ...], int | None]:
        """What disturbed the batch, and the clock rate in MHz where it is known."""


class RunnerDevice(Device[Program]):
    """Runners take turns on one core; the referee has another where there are two."""

    defences: Defences = ALL_DEFENCES
    """Which checks are on; whoever judges may set others before the device is entered."""

    queues_calls = False
    """Whether a call returns before its work is done."""

    at_once = 5
    """Runners that are alive together, the oracle among them, and share the device's memory."""

    def __init__(self, *, isolate: bool = True, without: Sequence[str] = ()) -> None:
        self._cores = choose_cores()
        self.isolate = isolate
        self.without = tuple(without)
        """Parts of the sandbox that runners leave out, to show what each of them stops."""
        self._zygote: Zygote | None = None
        self._free: list[tuple[HostMemory, Memory]] = []
        self._pools: dict[tuple[str, int, int], Pools] = {}
        self._unrest: list[tuple[Program, Unrest]] = []
        """By program: the very object, since two may be alike and answer for themselves alone."""
        self.empty_ns: dict[Lane, int] = {}
        """By lane, the nanoseconds of a turn that does nothing; subtracted from every batch."""
        self.host_shares: dict[tuple[str, Lane], float] = {}
        """What `host_share` found, by row and lane."""
        self.rows: Mapping[str, RowSource] = {}
        """What each row's calls are made of; set before the first of them is timed."""

    # -- what a kind of device decides

    @property
    @abc.abstractmethod
    def target(self) -> Target:
        """What solutions are built for."""

    @property
    @abc.abstractmethod
    def torch_device(self) -> str:
        """Where torch has the referee's tensors."""

    @property
    def preloaded(self) -> tuple[str, ...]:
        """Modules beside torch that are worth loading once for all runners."""
        return ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What every verdict from here must say."""
        return ()

    @abc.abstractmethod
    def new_memory(self) -> Memory:
        """Memory for the tensors of one runner."""

    @abc.abstractmethod
    def runner_request(self) -> dict[str, Any]:
        """What a runner is told of the device and of its limits."""

    @abc.abstractmethod
    def slots_for(self, source: RowSource, wanted: int, lane: Lane) -> int:
        """Slots of a row whose batches in a lane would like so many."""

    def calls_a_launch(self, lane: Lane, slots: int) -> int:
        """How many calls are launched as one, of a row with so many slots."""
        return 1

    @abc.abstractmethod
    def most_touches(self, lane: Lane) -> int:
        """How many inputs may change in the middle of a batch."""

    @abc.abstractmethod
    def watch(self, process: RunnerProcess) -> TurnWatch:
        """Somebody to look at the device while one process has its turn."""

    def settle(self, runner: RunnerHandle) -> tuple[float, ...]:
        """Have a runner where nobody else is, where the device cares; the pace as `pace` has it."""
        return ()

    def pace(self) -> tuple[float, ...]:
        """How fast the runners' core is just now, where the device cares: see `Reading`."""
        return ()

    def hand_over(self) -> None:
        """Before a runner works: what the referee has written is there, and nothing else runs."""

    def calibrate(self, idle: RunnerProcess, row: str) -> None:
        """Measure with a process of the referee's own what a turn costs that does nothing."""

    def host_paces(self, row: str, lane: Lane) -> bool:
        """Whether it is the host that decides how long the calls of a row take, as far as it is
        known: of the baseline's, so that nothing a candidate does can change how it is timed."""
        return self.host_shares.get((row, lane), 1.0) > HOST_PACED

    @property
    def peak_bytes_per_second(self) -> float | None:
        """More than this the memory cannot deliver; None where nobody said."""
        return None

    def report(self) -> dict[str, Any]:
        """What was seen of the device, for the evidence."""
        return {}

    # -- what all of them do alike

    @property
    def parts_off(self) -> tuple[str, ...]:
        """Parts of the sandbox that are switched off here, by either way to do so."""
        return tuple(part for part in PARTS if part in {*self.without, *self.defences.off})

    def start(self, program: Program) -> RunnerProcess:
        return self.begin(program)()

    def begin(self, program: Program) -> Callable[[], RunnerProcess]:
        if self._zygote is None:
            raise UsageError("the device is not open", next_step="use it in a with statement")
        bell, memory = self._free.pop() if self._free else (_bell(), self.new_memory())
        bell.flat.zero_()
        wait = self._zygote.begin(
            bell.descriptor,
            memory.descriptor,
            {
                **self.runner_request(),
                "cores": [self._cores.runner],
                "without": list(self.parts_off),
            },
        )

        def started() -> RunnerProcess:
            try:
                return self._started(program, wait(), bell, memory)
            except BaseException:
                self._free.append((bell, memory))
                raise

        return started

    def _started(
        self, program: Program, runner: RunnerHandle, bell: HostMemory, memory: Memory
    ) -> RunnerProcess:
        if self.defences.rest:
            runner.rest = Rest(runner.pid, self._unrest_of(program))
        try:
            return _Borrowing(self, program, runner, bell, memory)
        except BaseException:
            runner.stop()
            raise

    def _unrest_of(self, program: Program) -> Unrest:
        for known, unrest in self._unrest:
            if known is program:
                return unrest
        self._unrest.append((program, Unrest()))
        return self._unrest[-1][1]

    def give_back(self, process: RunnerProcess, bell: HostMemory, memory: Memory) -> None:
        """A process has ended: its memory serves the next."""
        self._free.append((bell, memory))

    def pools_for(self, source: RowSource, layout: RowLayout) -> Pools:
        """Content for a row's slots, made once for all processes."""
        key = (layout.row.id, layout.slots, layout.shifts)
        if key not in self._pools:
            self._pools[key] = Pools(source, layout)
        return self._pools[key]

    def forget(self) -> None:
        """No row is timed again: what was kept for that takes no more room."""
        self._pools.clear()

    @contextlib.contextmanager
    def referee_core(self) -> Iterator[None]:
        """Keep this process on a core of its own for as long as it measures: were it to wander, it
        would disturb the runners' core from some places and not from others. Several threads on
        that core would only wait for each other."""
        allowed, threads = os.sched_getaffinity(0), torch.get_num_threads()
        if not self._cores.shared:
            os.sched_setaffinity(0, {self._cores.referee})
            torch.set_num_threads(1)
        try:
            yield
        finally:
            os.sched_setaffinity(0, allowed)
            torch.set_num_threads(threads)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
        for pair in self._free:
            for memory in pair:
                memory.close()
        self._free.clear()
        self._pools.clear()

    def __enter__(self) -> Self:
        for part in self.without:
            if part not in PARTS:
                raise UsageError(
                    f"the sandbox has no part called {quote(part)}",
                    next_step=f"it has {', '.join(PARTS)}",
                )
        self._zygote = Zygote(isolate=self.isolate, preloaded=self.preloaded)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bell() -> HostMemory:
    return HostMemory(doorbell.SIZE, "assay-bell")


class _Borrowing(RunnerProcess):
    """A process that gives its memory back to the device when it stops."""

    def __init__(
        self,
        device: RunnerDevice,
        program: Program,
        runner: RunnerHandle,
        bell: HostMemory,
        memory: Memory,
    ) -> None:
        self._borrowed: tuple[HostMemory, Memory] | None = (bell, memory)
        super().__init__(device, program, runner, bell, memory)

    def stop(self) -> None:
        super().stop()
        if self._borrowed is not None:
            self.device.give_back(self, *self._borrowed)
            self._borrowed = None
