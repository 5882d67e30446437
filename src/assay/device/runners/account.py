"""The referee's end of an account: asks a runner for one, and reads it as what a stranger says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.device.runners.content import Contents
from assay.device.runners.content import RowSource
from assay.device.runners.process import RunnerProcess
from assay.runner.account import KERNEL
from assay.runner.account import KINDS
from assay.runner.account import LAUNCH
from assay.runner.account import MARK
from assay.runner.account import MARKED
from assay.runner.account import MEMCPY
from assay.runner.account import MEMSET
from assay.runner.account import MOST_EVENTS
from assay.runner.account import OPERATOR

__all__ = [
    "KERNEL",
    "LAUNCH",
    "MARK",
    "MARKED",
    "MEMCPY",
    "MEMSET",
    "OPERATOR",
    "CallState",
    "Event",
    "Taken",
    "events_of",
    "take_account",
]

_SECONDS = 120.0
"""The first one loads the vendor's profiler."""
_LONGEST_NAME = 300
_LONGEST_DTYPE = 40
_MOST = 2**62


@dataclass(frozen=True)
class Event:
    """One line of a trace. Times are nanoseconds of the runner's own clock."""

    kind: str
    name: str
    start: int
    end: int
    correlation: int = 0
    """The same number at a launch and at what it launched; 0 is none."""
    thread: int = 0

    @property
    def on_device(self) -> bool:
        return self.kind in {KERNEL, MEMCPY, MEMSET}


@dataclass(frozen=True)
class CallState:
    """How torch was set in the runner when the calls were made, as the runner has it."""

    gradients: bool
    default_dtype: str
    autocast: bool
    default_stream: bool | None
    """None where there are no streams."""


@dataclass(frozen=True)
class Taken:
    """What the runner said, and how long the referee waited for it."""

    events: tuple[Event, ...]
    nanoseconds: int
    left_out: bool = False
    """There were more events than are passed on."""
    state: CallState | None = None


def take_account(
    process: RunnerProcess, source: RowSource, contents: Contents, calls: int
) -> Taken:
    """Calls of one row under a profiler, each on memory of its own, and after one call of each
    that is not profiled; off the clock, and in a process that nothing else is asked of.

    Raises ProcessFailure if the runner does not answer, ValueError if it talks nonsense.
    """
    # The profiler has threads of its own, which work when they like.
    process.runner.rest = None
    process.examine(source, contents, calls=calls)
    process.device.hand_over()
    request = {"do": "account", "row": f"exam-{source.row.id}", "slots": list(range(calls))}
    begun = time.perf_counter_ns()
    reply = process.runner.ask(request, _SECONDS)
    taken = time.perf_counter_ns() - begun
    state = state_of(reply.get("state"))
    return Taken(events_of(reply), taken, bool(reply.get("left_out")), state)


def state_of(told: object) -> CallState | None:
    """What a reply says of the settings; None where it is nothing that a runner of ours says."""
    if not isinstance(told, dict):
        return None
    gradients, autocast = told.get("gradients"), told.get("autocast")
    stream = told.get("default_stream")
    if not isinstance(gradients, bool) or not isinstance(autocast, bool):
        return None
    dtype = _printable(told.get("default_dtype"))[:_LONGEST_DTYPE]
    return CallState(gradients, dtype, autocast, stream if isinstance(stream, bool) else None)


def events_of(reply: Mapping[str, Any]) -> tuple[Event, ...]:
    """The events of a reply; ValueError where it is none that a runner of ours would send."""
    names, told = reply.get("names"), reply.get("events")
    if not isinstance(names, list) or not isinstance(told, list) or len(told) > MOST_EVENTS:
        raise ValueError("no list of events")
    return tuple(_event(one, names) for one in told)


def _event(told: object, names: list[Any]) -> Event:
    if not isinstance(told, list) or len(told) != 6 or told[0] not in KINDS.values():
        raise ValueError("something that is no event")
    kind, *numbers = told
    if not all(type(number) is int and abs(number) < _MOST for number in numbers):
        raise ValueError("an event without its numbers")
    index, start, end, correlation, thread = numbers
    if not 0 <= index < len(names) or not 0 <= start <= end:
        raise ValueError("an event that ends before it begins, or has no name")
    name = _printable(names[index])[:_LONGEST_NAME]
    return Event(kind, name.strip() or "nameless", start, end, correlation, thread)


def _printable(told: object) -> str:
    return "".join(c if c.isprintable() else " " for c in str(told))
