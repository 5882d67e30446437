"""Probes: what the referee tries on a GPU before it believes anything measured there."""

from __future__ import annotations

import contextlib
import ctypes
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from assay.spec.errors import UnavailableError
from assay.wire.gpu_memory import Driver
from assay.wire.gpu_memory import DriverError

_PERSISTING_L2 = 6
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE."""
_HOT_BYTES = 16 << 20
_COPY_BYTES = 1 << 30
_L2_SHARE = 8
_MATRIX = 4096
_BEHIND_CYCLES = 200_000


class Flush:
    """Makes the second-level cache cold: every line of twice its size is read and written.

    Lines that somebody asked to persist there would survive that, so they are made ordinary first
    and the room for them is taken away.
    """

    def __init__(self, driver: Driver, l2_bytes: int) -> None:
        self._driver = driver
        self._scratch = torch.zeros(2 * l2_bytes // 4, dtype=torch.int32, device="cuda")
        with contextlib.suppress(DriverError):  # a device without persisting lines
            driver.call("CtxSetLimit", ctypes.c_int(_PERSISTING_L2), ctypes.c_size_t(0))

    def run(self) -> None:
        with contextlib.suppress(DriverError):
            self._driver.call("CtxResetPersistingL2Cache")
        self._scratch.add_(1)

    def shown(self, repeats: int = 7) -> dict[str, float]:
        """The microseconds of one sweep over a small buffer: hot, after a flush, after twice of
        it. Cold is proven where a flush and two of them agree and hot is faster."""
        buffer = torch.zeros(_HOT_BYTES // 4, device="cuda")
        result = torch.empty_like(buffer)

        def work() -> None:
            torch.add(buffer, 1.0, out=result)

        def sweep(before: Callable[[], None]) -> float:
            times = []
            for _ in range(repeats):
                work()
                before()
                times.append(event_microseconds(work, behind=_BEHIND_CYCLES))
            return round(statistics.median(times), 2)

        def twice() -> None:
            self.run()
            self.run()

        return {
            "hot_us": sweep(lambda: None),
            "flushed_us": sweep(self.run),
            "flushed_twice_us": sweep(twice),
        }


def event_microseconds(work: Callable[[], object], repeats: int = 1, behind: int = 0) -> float:
    """The device's own time for some work of the referee's, whose events can be believed.

    Behind so many cycles of waiting the work is there before the device comes to it, and the time
    of its launch is not counted.
    """
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if behind:
        torch.cuda._sleep(behind)
    begin.record()
    for _ in range(repeats):
        work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1000 / repeats


class FreeDevice:
    """Tells whether the device is free: how long a kernel of the referee's takes to come and go.

    Behind another process's kernel it waits for that kernel, or for its slice of time to end.
    """

    def __init__(self) -> None:
        self._word = torch.zeros(1, device="cuda")
        self.usual_us = 0.0

    def microseconds(self) -> float:
        begun = time.perf_counter_ns()
        self._word.add_(1)
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - begun) / 1000


def check_health() -> None:
    """The same work twice must give the same bits, and a known sum its value."""
    numbers = torch.arange(1 << 24, dtype=torch.int64, device="cuda")
    count = numbers.numel()
    first = torch.randn(1024, 1024, device="cuda")
    healthy = int(numbers.sum()) == count * (count - 1) // 2 and torch.equal(
        first @ first, first @ first
    )
    if not healthy:
        raise UnavailableError(
            "the device gives wrong or changing answers to known work",
            next_step="nvidia-smi -q -d ECC shows memory errors; judge on another device",
        )


def measure_rates(l2_bytes: int) -> dict[str, Any]:
    """What this device reaches today: copy and cache bandwidth, and the matrix rate by dtype."""
    source = torch.empty(_COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    copy_us = min(event_microseconds(lambda: target.copy_(source)) for _ in range(5))
    small = l2_bytes // _L2_SHARE
    inner, outer = source[:small], target[:small]
    outer.copy_(inner)
    l2_us = min(event_microseconds(lambda: outer.copy_(inner), repeats=50) for _ in range(3))
    rates: dict[str, Any] = {
        "copy_bytes_per_second": 2 * _COPY_BYTES / copy_us * 1e6,
        "l2_bytes_per_second": 2 * small / l2_us * 1e6,
    }
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        name = f"{str(dtype).removeprefix('torch.')}_operations_per_second"
        rates[name] = 2 * _MATRIX**3 / _product_us(dtype) * 1e6
    return rates


def _product_us(dtype: torch.dtype) -> float:
    left = torch.randn(_MATRIX, _MATRIX, device="cuda").to(dtype)
    torch.mm(left, left)
    return min(event_microseconds(lambda: torch.mm(left, left)) for _ in range(3))
