"""Account: what a profiler sees of some calls, one by one, with the device idle around each.

The profiler runs in the solution's own process, where the solution can blind it or feed it. What
it reports may convict the solution, and never acquits it; the referee decides what to make of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from assay.runner.machine import Call

MARK = "assay call "
"""And a number: the annotation around a call."""
MOST_EVENTS = 50_000
_LONGEST_NAME = 300
_IDLE_SECONDS = 0.005
_TRACE = "account.json"

MARKED, LAUNCH, KERNEL, MEMCPY, MEMSET = "mark", "launch", "kernel", "memcpy", "memset"
OPERATOR = "operator"
KINDS = {
    "user_annotation": MARKED,
    "cuda_runtime": LAUNCH,
    "cuda_driver": LAUNCH,
    "kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "gpu_memset": MEMSET,
    "cpu_op": OPERATOR,
}
"""By the trace's own categories, what the referee is told of; the rest stays out. Of operators it
is told where there is no device, and so no kernel."""


def take(
    calls: Sequence[Call], synchronize: Callable[[], None], folder: Path, *, device: bool
) -> dict[str, Any]:
    """Make these calls under the profiler; what it saw, as `records` has it."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        _idle(device)
        for number, call in enumerate(calls):
            with torch.profiler.record_function(f"{MARK}{number}"):
                call()
                synchronize()
            _idle(device)
    path = folder / _TRACE
    profiler.export_chrome_trace(str(path))
    try:
        return records(json.loads(path.read_bytes()), operators=not device)
    finally:
        path.unlink()


def _idle(device: bool) -> None:
    """Whatever else there is on the device ends here, and what somebody else starts is seen."""
    if device:
        torch.cuda.synchronize()
    time.sleep(_IDLE_SECONDS)
    if device:
        torch.cuda.synchronize()


def records(trace: Mapping[str, Any], *, operators: bool = False) -> dict[str, Any]:
    """The events of a trace as plain numbers, names apart: kind, name, start and end in
    nanoseconds, correlation or 0, thread."""
    names: dict[str, int] = {}
    told: list[list[Any]] = []
    left_out = 0
    launching = _correlations(trace)
    for event in trace["traceEvents"]:
        kind = KINDS.get(event.get("cat", ""))
        if kind is None or event.get("ph") != "X" or (kind == OPERATOR and not operators):
            continue
        name = str(event["name"])[:_LONGEST_NAME]
        correlation = _correlation(event)
        if kind == MARKED and not name.startswith(MARK):
            continue
        if kind == LAUNCH and correlation not in launching:
            continue  # a call of the runtime that put nothing on the device
        if len(told) == MOST_EVENTS:
            left_out += 1
            continue
        start = round(float(event["ts"]) * 1000)
        end = start + round(float(event.get("dur", 0)) * 1000)
        number = names.setdefault(name, len(names))
        told.append([kind, number, start, end, correlation, _whole(event.get("tid"))])
    return {"names": list(names), "events": told, "left_out": left_out}


def _correlations(trace: Mapping[str, Any]) -> set[int]:
    on_device = {KERNEL, MEMCPY, MEMSET}
    return {
        _correlation(event)
        for event in trace["traceEvents"]
        if KINDS.get(event.get("cat", "")) in on_device
    } - {0}


def _correlation(event: Mapping[str, Any]) -> int:
    return _whole((event.get("args") or {}).get("correlation"))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
