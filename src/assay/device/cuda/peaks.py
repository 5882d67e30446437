"""Peaks: what a card cannot exceed. For the physics limit only; nobody's target.

A limit that accuses somebody must not be too low, so where sources differ the reading of the
device counts for clocks, and dense tensor-core rates count for everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.device.cuda.nvml import CLOCK_MEMORY
from assay.device.cuda.nvml import CLOCK_SM
from assay.device.cuda.nvml import Nvml
from assay.spec.dtype import DType


@dataclass(frozen=True)
class _Card:
    """From a data sheet."""

    bytes_per_second: float
    sm_mhz: int


_CARDS = {
    "NVIDIA H200": _Card(4.8e12, 1980),
    "NVIDIA H100 80GB HBM3": _Card(3.35e12, 1980),
    "NVIDIA A100-SXM4-80GB": _Card(2.039e12, 1410),
}

# Operations (a multiply-add is two) that one multiprocessor does in one clock. float32 stands at
# the rate of TF32: torch may be told to multiply float32 that way.
_PER_CLOCK = {
    "80": {
        DType.FLOAT64: 128,
        DType.FLOAT32: 1024,
        DType.FLOAT16: 2048,
        DType.BFLOAT16: 2048,
        DType.INT8: 4096,
    },
    "90a": {
        DType.FLOAT64: 256,
        DType.FLOAT32: 2048,
        DType.FLOAT16: 4096,
        DType.BFLOAT16: 4096,
        DType.FLOAT8_E4M3FN: 8192,
        DType.FLOAT8_E5M2: 8192,
        DType.INT8: 8192,
    },
}


def operations_per_clock(arch: str, dtype: DType) -> int | None:
    return _PER_CLOCK.get(arch, {}).get(dtype)


def highest_clock(name: str, nvml: Nvml | None, handle: Any) -> int | None:
    """The multiprocessors' highest clock in MHz: NVML's word, else the data sheet's."""
    mhz: int | None = None
    if nvml is not None and handle is not None:
        mhz = nvml.device("MaxClockInfo", handle, CLOCK_SM)
    if mhz is None and name in _CARDS:
        return _CARDS[name].sm_mhz
    return mhz


def memory_bandwidth(name: str, nvml: Nvml | None, handle: Any) -> float | None:
    """Bytes a second: the data sheet's, else the pin rate, two bits a clock and wire.

    The pin rate of an H200, 3201 MHz over 6144 wires, is 4.917e12 against 4.8e12 on its sheet.
    """
    if name in _CARDS:
        return _CARDS[name].bytes_per_second
    if nvml is None or handle is None:
        return None
    mhz = nvml.device("MaxClockInfo", handle, CLOCK_MEMORY)
    wires = nvml.device("MemoryBusWidth", handle)
    return mhz * 1e6 * wires * 2 / 8 if mhz and wires else None
