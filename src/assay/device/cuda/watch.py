"""Watch: the state of a GPU around each batch, and what in it disturbs a reading.

The rules were fixed before anything was measured with them:

- hardware slowdown, hardware or software thermal slowdown, power brake: THROTTLED;
- software power cap, sync boost, an application-clock setting and the like are how the card was
  set up or what the kernel asks of it, and idle is nothing: recorded by name, not a disturbance;
- a compute process that is not ours: FOREIGN_WORK;
- a multiprocessor clock that differs by more than 3 % before and after a batch: CLOCK_STEP.

What is not known disturbs nothing; a label says that it was not watched.

On an H200 clock, temperature, reasons and power take 2 µs each and the list of processes 52 µs.
The energy counter takes 2.4 ms, so nobody asks for it.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from assay.device.cuda.nvml import CLOCK_MEMORY
from assay.device.cuda.nvml import CLOCK_SM
from assay.device.cuda.nvml import SENSOR_GPU
from assay.device.cuda.nvml import Nvml
from assay.device.cuda.properties import CudaProperties
from assay.spec.errors import UnavailableError
from assay.spec.sample import Disturbance

_IDLE = 0x1
_REASONS = {
    _IDLE: "idle",
    0x2: "application-clock setting",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display-clock setting",
    0x200: "board limit",
    0x400: "reliability limit",
}
THROTTLING = 0x8 | 0x20 | 0x40 | 0x80
_CLOCK_STEP = 0.03

# One question under its newer and its older name.
_REASON_NAMES = ("CurrentClocksEventReasons", "CurrentClocksThrottleReasons")
_TEMPERATURE_NAMES = ("TemperatureV", "Temperature")
_PROCESS_NAMES = ("ComputeRunningProcesses", "ComputeRunningProcesses_v2")


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device at one moment; None is what nobody said."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    throttle_reasons: int | None = None
    """NVML's mask of what holds the clock down."""
    processes: tuple[int, ...] | None = None
    """Compute processes, by the pids of NVML's own pid namespace, which may not be ours."""

    @property
    def reason_names(self) -> tuple[str, ...]:
        return reason_names(self.throttle_reasons or 0)

    @property
    def throttled(self) -> bool:
        return bool((self.throttle_reasons or 0) & THROTTLING)


def reason_names(mask: int) -> tuple[str, ...]:
    """The reasons of a mask, lowest bit first.

    >>> reason_names(0x24)
    ('software power cap', 'software thermal slowdown')
    """
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return tuple(_REASONS.get(bit, f"reason {bit:#x}") for bit in bits)


def same_namespace(state: DeviceState, ours: AbstractSet[int]) -> bool:
    """Whether NVML's list has a process of ours in it, and so counts pids as we do."""
    return state.processes is not None and not ours.isdisjoint(state.processes)


def foreign_processes(state: DeviceState, ours: AbstractSet[int], held: int) -> int:
    """How many compute processes are not ours, when `held` of ours have the device open.

    A list without any of them is of another pid namespace. Then only its length can be compared.
    """
    if state.processes is None:
        return 0
    if held == 0 or same_namespace(state, ours):
        return len(set(state.processes) - ours)
    return max(0, len(state.processes) - held)


def disturbances(
    before: DeviceState, after: DeviceState, ours: AbstractSet[int], *, held: int
) -> tuple[Disturbance, ...]:
    """What the states around a batch say against it, by the rules above."""
    found = []
    if before.throttled or after.throttled:
        found.append(Disturbance.THROTTLED)
    if any(foreign_processes(state, ours, held) for state in (before, after)):
        found.append(Disturbance.FOREIGN_WORK)
    if _stepped(before.sm_mhz, after.sm_mhz):
        found.append(Disturbance.CLOCK_STEP)
    return tuple(found)


def _stepped(before: int | None, after: int | None) -> bool:
    if before is None or after is None:
        return False
    return abs(after - before) > _CLOCK_STEP * min(before, after)


class Watch:
    """Reads the states of one device, and remembers them for the evidence."""

    def __init__(self, properties: CudaProperties) -> None:
        self._states: list[DeviceState] = []
        self._disturbances: Counter[Disturbance] = Counter()
        self._process_label = ""
        self._nvml: Nvml | None = None
        self._handle: Any = None
        self._not_watched = self._open(properties)

    def _open(self, properties: CudaProperties) -> str:
        """Find the device; returns why it cannot be watched, or nothing."""
        if properties.kind != "cuda":
            return f"no reader for {properties.kind}"
        try:
            nvml = Nvml()
        except UnavailableError as error:
            return error.next_step
        self._handle = nvml.find(properties.uuid, properties.pci_bus_id)
        if self._handle is None:
            return "NVML does not know the device"
        self._nvml = nvml
        self._reasons = nvml.first_known(_REASON_NAMES, self._handle)
        self._temperature = nvml.first_known(_TEMPERATURE_NAMES, self._handle, SENSOR_GPU)
        self._processes = nvml.first_known(_PROCESS_NAMES, self._handle)
        return ""

    def state(self) -> DeviceState:
        """The device now; to be asked after the warm calls, when the clock has risen."""
        if self._nvml is None:
            return DeviceState()
        ask, handle = self._nvml.device, self._handle
        milliwatts = ask("PowerUsage", handle)
        processes = ask(self._processes, handle)
        state = DeviceState(
            sm_mhz=ask("ClockInfo", handle, CLOCK_SM),
            memory_mhz=ask("ClockInfo", handle, CLOCK_MEMORY),
            temperature_c=ask(self._temperature, handle, SENSOR_GPU),
            power_w=None if milliwatts is None else milliwatts / 1000,
            throttle_reasons=ask(self._reasons, handle),
            processes=None if processes is None else tuple(one.pid for one in processes),
        )
        self._states.append(state)
        return state

    def compare(
        self, before: DeviceState, after: DeviceState, ours: AbstractSet[int], *, held: int
    ) -> tuple[Disturbance, ...]:
        """`disturbances`, counted for the summary."""
        found = disturbances(before, after, ours, held=held)
        self._disturbances.update(found)
        if held and not after.processes:
            self._process_label = "other processes on the device not visible"
        elif held and not same_namespace(after, ours):
            self._process_label = "other processes on the device counted, not told apart"
        return found

    def labels(self) -> tuple[str, ...]:
        """What a verdict must say of the device's state; complete when the last batch is done."""
        if self._not_watched:
            return (f"clocks not watched: {self._not_watched}",)
        mask = 0
        for state in self._states:
            mask |= state.throttle_reasons or 0
        # Throttled batches are dropped, and idle is what a device is between batches.
        held_down = reason_names(mask & ~THROTTLING & ~_IDLE)
        labels = [f"clock limited by {name}" for name in held_down]
        if self._states and all(state.sm_mhz is None for state in self._states):
            labels.append("clocks not watched: the device does not say")
        return (*labels, *([self._process_label] if self._process_label else []))

    def summary(self) -> dict[str, Any]:
        """Every reading in a few figures, as plain JSON values."""
        reasons = Counter(name for state in self._states for name in state.reason_names)
        return {
            "readings": len(self._states),
            "not_watched": self._not_watched,
            "sm_mhz": _spread([state.sm_mhz for state in self._states]),
            "memory_mhz": _spread([state.memory_mhz for state in self._states]),
            "temperature_c": _spread([state.temperature_c for state in self._states]),
            "power_w": _spread([state.power_w for state in self._states]),
            "reasons": dict(sorted(reasons.items())),
            "disturbances": {kind.value: self._disturbances[kind] for kind in Disturbance},
        }


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"min": min(known), "median": statistics.median(known), "max": max(known)}
