"""The ways in which a batch is called. A mode decides when the runner waits for the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import torch

from assay.runner.machine import Call
from assay.wire import doorbell


class Ring:
    """The calls of one batch as they are revealed."""

    def __init__(
        self, words: memoryview, first: int, count: int, synchronize: Callable[[], None]
    ) -> None:
        self.words = words
        self.first = first
        self.last = first + count - 1
        self.synchronize = synchronize


def stream(ring: Ring, calls: Sequence[Call]) -> None:
    """Back to back; the device is waited for at the end."""
    words, last = ring.words, ring.last
    for number in range(ring.first, last + 1):
        index = doorbell.FIRST_CALL + number % doorbell.RING
        word = words[index]
        while word >> doorbell.SLOT_BITS != number:
            word = words[index]
        calls[word & (doorbell.MOST_SLOTS - 1)]()
        if number == last:
            ring.synchronize()
        words[doorbell.DONE] = number


def single(ring: Ring, calls: Sequence[Call]) -> None:
    """The device is waited for after every call."""
    words = ring.words
    for number in range(ring.first, ring.last + 1):
        index = doorbell.FIRST_CALL + number % doorbell.RING
        word = words[index]
        while word >> doorbell.SLOT_BITS != number:
            word = words[index]
        calls[word & (doorbell.MOST_SLOTS - 1)]()
        ring.synchronize()
        words[doorbell.DONE] = number


def events(ring: Ring, calls: Sequence[Call]) -> dict[str, Any]:
    """As a stream, with the device's own events around it: a claim, which decides nothing."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    host = _first_seen(ring)
    begin.record()
    stream(ring, calls)
    host = time.perf_counter_ns() - host
    end.record()
    end.synchronize()
    return {"nanoseconds": int(begin.elapsed_time(end) * 1e6), "host_nanoseconds": host}


def _first_seen(ring: Ring) -> int:
    """The host's time at which the first call was revealed."""
    index = doorbell.FIRST_CALL + ring.first % doorbell.RING
    while ring.words[index] >> doorbell.SLOT_BITS != ring.first:
        pass
    return time.perf_counter_ns()


def device(ring: Ring, calls: Sequence[Call]) -> dict[str, Any]:
    """As a stream under a profiler, which adds up what each kernel took: a claim as well."""
    activity = torch.profiler.ProfilerActivity.CUDA
    with torch.profiler.profile(activities=[activity]) as seen:
        stream(ring, calls)
    microseconds = sum(event.self_device_time_total for event in seen.key_averages())
    return {"nanoseconds": int(microseconds * 1e3)}


MODES: dict[str, Callable[[Ring, Sequence[Call]], dict[str, Any] | None]] = {
    "stream": stream,
    "single": single,
    "graph": stream,
    "events": events,
    "device": device,
}
