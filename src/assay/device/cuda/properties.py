"""CudaProperties: what a GPU is, read from the device, and what it cannot exceed."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.device.cuda.nvml import Nvml
from assay.device.cuda.peaks import highest_clock
from assay.device.cuda.peaks import memory_bandwidth
from assay.device.cuda.peaks import operations_per_clock
from assay.spec.dtype import DType
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote

_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_AMD_DRIVER = Path("/sys/module/amdgpu/version")
_VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "HIP_VISIBLE_DEVICES"}
# Compute capabilities whose own instructions (wgmma, tcgen05) nvcc gives only to an `a` target.
_SPECIFIC = {(9, 0), (10, 0), (12, 0)}


@dataclass(frozen=True)
class CudaProperties:
    """One device as torch, the driver and NVML describe it; None is what nobody said."""

    kind: str
    """`cuda`, or `rocm` where torch answers the same calls for AMD."""
    index: int
    """As torch counts, after CUDA_VISIBLE_DEVICES."""
    name: str
    arch: str
    """What follows `sm_` for nvcc, as in 90a; on rocm the whole name, as in gfx942."""
    sms: int
    warp_size: int
    l2_bytes: int
    memory_bytes: int
    runtime: str
    driver: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    max_sm_mhz: int | None = None
    peak_bytes_per_second: float | None = None
    """More than this the memory cannot deliver. For the physics limit, never a target."""

    def peak_operations_per_second(self, dtype: DType) -> float | None:
        """More dense operations a second this device cannot do, for the physics limit only.

        At the highest clock, so above the data sheet where that assumes a lower one: an H200 is
        sold with 989e12 bfloat16 operations a second, at 1830 MHz; at its 1980 MHz it has 1070e12.
        """
        per_clock = operations_per_clock(self.arch, dtype)
        if per_clock is None or self.max_sm_mhz is None:
            return None
        return per_clock * self.sms * self.max_sm_mhz * 1e6

    @property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(
            kind=self.kind,
            name=self.name,
            index=self.index,
            driver=self.driver,
            memory_bytes=self.memory_bytes,
            cache_bytes=self.l2_bytes,
        )


def require_build(kind: str) -> str:
    """The version of CUDA or ROCm that torch was built with; raises UnavailableError for none."""
    version: str | None = torch.version.hip if kind == "rocm" else torch.version.cuda
    if version is None:
        raise UnavailableError(
            f"torch {torch.__version__} is not built for {kind}",
            next_step="install the build of torch for it, see pytorch.org",
        )
    return version


def count_devices(kind: str = "cuda") -> int:
    """How many devices torch sees; raises UnavailableError for none, with torch's reason."""
    require_build(kind)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = torch.cuda.device_count()
    if count == 0:
        reason = f": {quote(said[-1].message)}" if said else ""
        raise UnavailableError(f"torch finds no {kind} device{reason}", next_step=_look(kind))
    return count


def _look(kind: str) -> str:
    shown = os.environ.get(_VISIBLE[kind])
    if shown is None:
        return "assay doctor says what this host lacks"
    return f"{_VISIBLE[kind]} is {quote(shown) or 'empty'}: unset it, or name a device"


def read_properties(index: int, *, rocm: bool = False) -> CudaProperties:
    """The device that torch calls `cuda:index`; raises an error of ours where there is none."""
    kind = "rocm" if rocm else "cuda"
    count = count_devices(kind)
    if not 0 <= index < count:
        there = f"is one {kind} device" if count == 1 else f"are {count} {kind} devices"
        hidden = f"{_VISIBLE[kind]} may hide others" if _VISIBLE[kind] in os.environ else ""
        raise UsageError(f"there {there}, not {index + 1}", next_step=hidden)
    try:
        found = torch.cuda.get_device_properties(index)
    except (RuntimeError, AssertionError) as error:  # torch raises both
        raise UnavailableError(
            f"{kind} device {index} cannot be opened: {quote(_first_line(error))}",
            next_step=_look(kind),
        ) from None
    return _rocm_properties(index, found) if rocm else _cuda_properties(index, found)


def _cuda_properties(index: int, found: Any) -> CudaProperties:
    nvml = _nvml()
    uuid, pci_bus_id = _uuid(found), _pci_bus_id(found)
    handle = None if nvml is None else nvml.find(uuid, pci_bus_id)
    return CudaProperties(
        kind="cuda",
        index=index,
        name=found.name,
        arch=nvcc_arch(found.major, found.minor),
        sms=found.multi_processor_count,
        warp_size=found.warp_size,
        l2_bytes=found.L2_cache_size,
        memory_bytes=found.total_memory,
        runtime=require_build("cuda"),
        driver=driver_version(nvml),
        uuid=uuid,
        pci_bus_id=pci_bus_id,
        max_sm_mhz=highest_clock(found.name, nvml, handle),
        peak_bytes_per_second=memory_bandwidth(found.name, nvml, handle),
    )


def _rocm_properties(index: int, found: Any) -> CudaProperties:
    driver = _AMD_DRIVER.read_text().strip() if _AMD_DRIVER.exists() else ""
    return CudaProperties(
        kind="rocm",
        index=index,
        name=found.name,
        # Features follow a colon, as in gfx942:sramecc+:xnack-.
        arch=found.gcnArchName.partition(":")[0],
        sms=found.multi_processor_count,
        warp_size=found.warp_size,
        l2_bytes=found.L2_cache_size,
        memory_bytes=found.total_memory,
        runtime=require_build("rocm"),
        driver=driver or None,
        pci_bus_id=_pci_bus_id(found),
    )


def nvcc_arch(major: int, minor: int) -> str:
    """What nvcc is told of a compute capability, after `sm_`.

    >>> nvcc_arch(9, 0), nvcc_arch(8, 6)
    ('90a', '86')
    """
    return f"{major}{minor}" + ("a" if (major, minor) in _SPECIFIC else "")


def driver_version(nvml: Nvml | None) -> str | None:
    """The NVIDIA driver's version, from NVML or else from the kernel module."""
    version = None if nvml is None else nvml.driver()
    if version is not None:
        return version
    try:
        text = _NVIDIA_DRIVER.read_text()
    except OSError:
        return None
    match = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", text)
    return match[1] if match else None


def _nvml() -> Nvml | None:
    try:
        return Nvml()
    except UnavailableError:
        return None


def _uuid(found: Any) -> str | None:
    uuid = getattr(found, "uuid", None)
    return None if uuid is None else f"GPU-{str(uuid).removeprefix('GPU-')}"


def _pci_bus_id(found: Any) -> str | None:
    """Newer builds of torch say where the device sits."""
    parts: list[Any] = [
        getattr(found, f"pci_{part}_id", None) for part in ("domain", "bus", "device")
    ]
    if None in parts:
        return None
    domain, bus, device = map(int, parts)
    return f"{domain:08x}:{bus:02x}:{device:02x}.0"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
