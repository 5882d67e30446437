"""Looks a host over for its NVIDIA devices: driver, torch, devices, tools, permissions.

It only reads. Nothing found here can make the cpu judge unfit, so no line is ever a MISS.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import torch

from assay.device.cuda.nvml import ECC_IN_ALL
from assay.device.cuda.nvml import ECC_SINCE_DRIVER_START
from assay.device.cuda.nvml import ECC_UNCORRECTED
from assay.device.cuda.nvml import Nvml
from assay.device.cuda.properties import CudaProperties
from assay.device.cuda.properties import count_devices
from assay.device.cuda.properties import driver_version
from assay.device.cuda.properties import read_properties
from assay.device.cuda.properties import require_build
from assay.device.cuda.toolkit import find_tool
from assay.device.cuda.watch import THROTTLING
from assay.device.cuda.watch import Watch
from assay.device.cuda.watch import foreign_processes
from assay.device.cuda.watch import reason_names
from assay.device.doctor import Finding
from assay.device.doctor import Mark
from assay.spec.errors import AssayError
from assay.spec.errors import UnavailableError
from assay.spec.errors import quote

# The kernel module, the device that containers are given, and the one that WSL has instead.
_SIGNS = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
_PARAMETERS = Path("/proc/driver/nvidia/params")
_VERSION_SECONDS = 10
_TOOLKIT = "install the CUDA toolkit of torch's CUDA version, or set CUDA_HOME to it"
_TOOLS = (
    ("nvcc", "CUDA C++ solutions", _TOOLKIT),
    ("ncu", "kernel profiles with hardware counters: why a kernel is slow", _TOOLKIT),
    ("compute-sanitizer", "promotion: no memory error and no race", _TOOLKIT),
    (
        "nsys",
        "timelines of a whole model: which kernel is slow",
        "install Nsight Systems, see developer.nvidia.com/nsight-systems",
    ),
)


def examine_cuda() -> tuple[Finding, ...]:
    """One line where there is no NVIDIA driver, else the whole checklist."""
    if not any(sign.exists() for sign in _SIGNS):
        found = "no NVIDIA device: the cpu device works"
        return (Finding(name="cuda", mark=Mark.INFO, found=found, enables="the cuda judge"),)
    nvml: Nvml | None = None
    nvml_line = _line("nvml", "there", "clocks, throttling and foreign work around each batch")
    try:
        nvml = Nvml()
    except UnavailableError as error:
        nvml_line = _lacking("nvml", error.what, nvml_line.enables, error.next_step)
    return (
        _driver(nvml),
        _torch(),
        *_devices(nvml),
        nvml_line,
        *(_tool(*tool) for tool in _TOOLS),
        _counters(),
    )


def _line(name: str, found: str, enables: str) -> Finding:
    return Finding(name=name, mark=Mark.OK, found=found, enables=enables)


def _lacking(name: str, found: str, enables: str, next_step: str = "") -> Finding:
    return Finding(name=name, mark=Mark.INFO, found=found, enables=enables, next_step=next_step)


# -- driver, torch, devices


def _driver(nvml: Nvml | None) -> Finding:
    version = driver_version(nvml)
    return _line("nvidia driver", version or "there; it says no version", "NVIDIA devices")


def _torch() -> Finding:
    enables = "tensors on NVIDIA devices"
    try:
        version = require_build("cuda")
    except UnavailableError as error:
        return _lacking("torch cuda", error.what, enables, error.next_step)
    return _line("torch cuda", f"torch {torch.__version__}, CUDA {version}", enables)


def _devices(nvml: Nvml | None) -> Iterator[Finding]:
    enables = "the cuda judge"
    try:
        count = count_devices()
    except UnavailableError as error:
        yield _lacking("cuda", error.what, enables, error.next_step)
        return
    for index in range(count):
        name = f"cuda:{index}"
        try:
            properties = read_properties(index)
        except AssayError as error:
            yield _lacking(name, error.what, enables, error.next_step)
            continue
        yield _line(name, _described(properties), enables)
        handle = None if nvml is None else nvml.find(properties.uuid, properties.pci_bus_id)
        if nvml is not None and handle is not None:
            yield _use(name, properties, nvml.device("UtilizationRates", handle))
            yield _health(name, *_memory_errors(nvml, handle))


def _described(properties: CudaProperties) -> str:
    return (
        f"{quote(properties.name)}, {properties.memory_bytes / 2**30:.1f} GiB of memory, "
        f"L2 {properties.l2_bytes / 2**20:.0f} MiB, {properties.sms} multiprocessors, "
        f"sm_{properties.arch}"
    )


def _use(name: str, properties: CudaProperties, rates: object) -> Finding:
    """What others do there now, and whether the card is held down."""
    enables = "verdicts: a device that others use makes them UNCLEAR"
    state = Watch(properties).state()
    found = []
    others = foreign_processes(state, {os.getpid()}, held=0)
    if others:
        found.append(f"{others} compute process{'es' * (others > 1)} of others")
    percent = getattr(rates, "gpu", 0)
    if percent:
        found.append(f"{percent} % busy")
    found += reason_names((state.throttle_reasons or 0) & THROTTLING)
    if not found:
        return _line(f"{name} use", "idle", enables)
    step = "end what nvidia-smi lists, judge later, or choose with CUDA_VISIBLE_DEVICES"
    return _lacking(f"{name} use", ", ".join(found), enables, step)


def _memory_errors(nvml: Nvml, handle: object) -> tuple[int | None, int | None]:
    """Uncorrected memory errors since the driver started, and in the card's life."""
    recent = nvml.device("TotalEccErrors", handle, ECC_UNCORRECTED, ECC_SINCE_DRIVER_START)
    ever = nvml.device("TotalEccErrors", handle, ECC_UNCORRECTED, ECC_IN_ALL)
    return recent, ever


def _health(name: str, recent: int | None, ever: int | None) -> Finding:
    name, enables = f"{name} health", "right answers: a faulty memory gives wrong ones"
    if recent is None:
        return _lacking(name, "its memory does not count errors", enables)
    found = f"{recent} uncorrected memory errors since the driver started, {ever or 0} ever"
    if recent == 0:
        return _line(name, found, enables)
    return _lacking(name, found, enables, "have its owner look after the card before judging on it")


# -- tools and permissions


def _tool(name: str, enables: str, next_step: str) -> Finding:
    path = find_tool(name)
    if path is None:
        return _lacking(name, "not found", enables, next_step)
    release = _release(path)
    if release is None:
        return _lacking(name, f"{quote(path)} does not start", enables, next_step)
    return _line(name, f"{release}, {quote(path)}", enables)


def _release(path: str) -> str | None:
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\b(?:release|version)\s+(\d[\d.]*)", answer.stdout, re.IGNORECASE)
    return match[1].rstrip(".") if match else "of unknown version"


def _counters() -> Finding:
    """The driver may keep the hardware counters for administrators."""
    name, enables = "ncu counters", "profiles with ncu"
    try:
        text = _PARAMETERS.read_text()
    except OSError:
        return _lacking(name, "not visible: ncu will say ERR_NVGPUCTRPERM if refused", enables)
    kept = re.search(r"^RmProfilingAdminOnly:\s*1\b", text, re.MULTILINE) is not None
    if not kept or os.geteuid() == 0:
        return _line(name, "allowed", enables)
    step = (
        "run ncu as root, or have an administrator load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0"
    )
    return _lacking(name, "only for administrators (RmProfilingAdminOnly: 1)", enables, step)
