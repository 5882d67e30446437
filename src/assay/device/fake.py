"""The fake device: kernel times come from a script, noise from whoever opens it.

Everything above the device runs on it unchanged: the planner, the sitting, the statistics, the
ledger. Its own clock is simulated, so an hour of device time passes in a moment.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.device._base import Device
from assay.device._base import Process
from assay.device._base import Reading
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.spec.sample import Disturbance

CALL_OVERHEAD = 5e-6
"""Seconds that a single synchronized call costs beside its kernel: the latency lane's own share."""


@dataclass(frozen=True, slots=True)
class Disturbed:
    """What noise made of one reading."""

    factor: float = 1.0
    """Multiplies the true time."""
    step_seconds: float = 0.0
    """Added by a clock that jumped while the batch ran."""
    seen: tuple[Disturbance, ...] = ()
    """What the device would report of its own state."""
    clock_mhz: int | None = None


class Noise(Protocol):
    """Decides how each reading is off. Knows the device's time, not which side is timed."""

    def process_started(self) -> float:
        """A factor that stays with a process for its life."""

    def reading(self, now: float, seconds: float) -> Disturbed:
        """The disturbance of a reading that starts at `now` and truly lasts `seconds`."""


class Quiet:
    """No noise at all."""

    def process_started(self) -> float:
        return 1.0

    def reading(self, now: float, seconds: float) -> Disturbed:
        return Disturbed()


class Jitter:
    """A little noise, the same for the same seed: enough for an interval to have a width."""

    def __init__(self, seed: int, reading: float = 0.004, process: float = 0.001) -> None:
        self._random = random.Random(seed)
        self._reading = reading
        self._process = process

    def process_started(self) -> float:
        return math.exp(self._random.gauss(0.0, self._process))

    def reading(self, now: float, seconds: float) -> Disturbed:
        return Disturbed(factor=math.exp(self._random.gauss(0.0, self._reading)))


@dataclass(frozen=True)
class Script:
    """How long one call of each row takes, in seconds."""

    seconds: Mapping[str, float]


DEFAULT_TRAITS: Mapping[Lane, LaneTraits] = {
    # A batch of 10 ms: the fake device has no runner that could ring early, so it does not need
    # the 40 ms that hide such a lie on a GPU.
    Lane.THROUGHPUT: LaneTraits(
        batch_seconds=0.010, warm_launches=1, turn_seconds=0.0005, resolution=1e-7
    ),
    Lane.LATENCY: LaneTraits(
        batch_seconds=0.0, warm_launches=8, turn_seconds=0.0005, resolution=1e-7
    ),
}


class FakeDevice(Device[Script]):
    def __init__(
        self, noise: Noise | None = None, traits: Mapping[Lane, LaneTraits] = DEFAULT_TRAITS
    ) -> None:
        self._noise = noise or Quiet()
        self._traits = traits
        self.now = 0.0
        """Simulated seconds since the device was opened."""
        self.running = 0
        """Processes that were started and not yet stopped."""

    @property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(kind="fake", name="scripted kernel times")

    @property
    def lanes(self) -> Sequence[Lane]:
        return tuple(self._traits)

    def traits(self, lane: Lane) -> LaneTraits:
        if lane not in self._traits:
            raise UsageError(f"the fake device has no {lane} lane")
        return self._traits[lane]

    def start(self, program: Script) -> Process:
        return _FakeProcess(self, program, self._noise.process_started())

    def read(self, seconds: float) -> Reading:
        disturbed = self._noise.reading(self.now, seconds)
        lasted = seconds * disturbed.factor
        self.now += lasted
        return Reading(
            nanoseconds=round((lasted + disturbed.step_seconds) * 1e9),
            disturbances=disturbed.seen,
            clock_mhz=disturbed.clock_mhz,
        )


class _FakeProcess(Process):
    def __init__(self, device: FakeDevice, script: Script, factor: float) -> None:
        self._device = device
        self._script = script
        self._factor = factor
        self._stopped = False
        device.running += 1

    def time(self, row: str, lane: Lane, launches: int, warm_launches: int) -> Reading:
        if self._stopped:
            raise UsageError("a stopped process was asked to run")
        if row not in self._script.seconds:
            raise UsageError(f"the script has no row {quote(row)}")
        overhead = CALL_OVERHEAD if lane is Lane.LATENCY else 0.0
        call = (self._script.seconds[row] + overhead) * self._factor
        self._device.now += call * warm_launches + self._device.traits(lane).turn_seconds
        return self._device.read(call * launches)

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._device.running -= 1


def open_device(index: int) -> FakeDevice:
    if index:
        raise UsageError(f"there is one fake device, not {index + 1}")
    return FakeDevice()
