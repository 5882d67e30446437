"""Device and Process: what the judge needs to know of where code runs.

A device is a module of this package that defines `open_device(index)`. It is found by its name;
adding one touches nothing else.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Generic
from typing import Self
from typing import TypeVar

from assay.spec.environment import DeviceIdentity
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.spec.sample import Disturbance

HOST_PACED = 0.5
"""A host that needs less of a batch than this could be twice as slow and not be noticed."""

P = TypeVar("P", contravariant=True)
"""What a device can run: a script on the fake one, a built solution on a real one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One timed batch as the device's trusted clock saw it, with the state it saw around it."""

    nanoseconds: int
    disturbances: tuple[Disturbance, ...] = ()
    clock_mhz: int | None = None
    paces: tuple[float, ...] = ()
    """How long a fixed piece of work took on the runner's core before and after the batch, as a
    multiple of what it usually takes: more where another guest of the machine is on that core."""


class Process(abc.ABC):
    """One solution in a process of its own, asleep unless it is timed."""

    @abc.abstractmethod
    def time(self, row: str, lane: Lane, launches: int, warm_launches: int) -> Reading:
        """Time one batch of calls of one row, after untimed warm ones."""

    def host_share(self, row: str, lane: Lane) -> float:
        """The share of a batch's time that the host takes to issue its calls; 1 where calls are
        waited for one by one."""
        return 1.0

    def dismiss(self) -> None:
        """Tell it to end, without waiting: `stop` does that, and several then end at a time."""
        return

    @abc.abstractmethod
    def stop(self) -> None:
        """End the process and everything that it started; harmless when repeated."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Device(abc.ABC, Generic[P]):
    @property
    @abc.abstractmethod
    def identity(self) -> DeviceIdentity:
        """What the device says that it is."""

    @property
    @abc.abstractmethod
    def lanes(self) -> Sequence[Lane]:
        """The lanes that this device can time."""

    @abc.abstractmethod
    def traits(self, lane: Lane) -> LaneTraits:
        """What a reading in a lane costs here."""

    @abc.abstractmethod
    def start(self, program: P) -> Process:
        """A new process that runs the program."""

    def begin(self, program: P) -> Callable[[], Process]:
        """Begin to start a process; calling what is returned waits for it. Where a device can, it
        starts several at a time."""
        return partial(self.start, program)
