"""A host with two H200s, of which NVML and torch tell the tests."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

UUID = "6f1ed7a5-0000-1111-2222-333344445555"
OTHER_UUID = "6f1ed7a5-9999-8888-7777-666655554444"
BUS = "00000000:1b:00.0"


class NVMLError(Exception):
    pass


class NVMLLibraryMismatchError(Exception):
    """What a function raises that the driver is too old for; no NVMLError."""


class FakeNvml:
    """Stands for the module pynvml; a question set to None is one that the device refuses.

    It has no function that sets anything: whoever called one would fail.
    """

    NVMLError = NVMLError
    NVMLLibraryMismatchError = NVMLLibraryMismatchError

    def __init__(self) -> None:
        self.handles = {f"GPU-{UUID}": "first", f"GPU-{OTHER_UUID}": "second", BUS: "first"}
        self.answers: dict[str, Any] = {
            "ClockInfo": {1: 1980, 2: 3201},
            "MaxClockInfo": {1: 1980, 2: 3201},
            "MemoryBusWidth": 6144,
            "TemperatureV": {0: 41},
            "PowerUsage": 118_500,
            "CurrentClocksEventReasons": 0,
            "ComputeRunningProcesses": (),
            "UtilizationRates": SimpleNamespace(gpu=0, memory=0),
            "TotalEccErrors": {(1, 0): 0, (1, 1): 0},
        }
        self.asked: list[tuple[str, Any]] = []
        self.init_error: str | None = None
        self.version: str | None = "580.159.04"

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        if self.init_error:
            raise NVMLError(self.init_error)

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802 - NVML's name
        if self.version is None:
            raise NVMLError("Not Supported")
        return self.version

    def __getattr__(self, name: str) -> Any:
        what = name.removeprefix("nvmlDeviceGet")
        if what == name:
            raise AttributeError(name)
        if what.startswith("HandleBy"):
            return self._find
        if what not in self.answers:
            raise AttributeError(name)
        return lambda handle, *arguments: self._answer(what, handle, arguments)

    def _find(self, key: str) -> str:
        if key not in self.handles:
            raise NVMLError("Not Found")
        return self.handles[key]

    def _answer(self, what: str, handle: Any, arguments: tuple[Any, ...]) -> Any:
        self.asked.append((what, handle))
        answer = self.answers[what]
        if isinstance(answer, dict):
            answer = answer[arguments if len(arguments) > 1 else arguments[0]]
        if answer is None:
            raise NVMLError("Not Supported")
        if answer is NVMLLibraryMismatchError:
            raise answer(what)
        if what.startswith("ComputeRunningProcesses"):
            return [SimpleNamespace(pid=pid) for pid in answer]
        return answer


class TorchUuid:
    """torch gives an object that prints as the bare UUID."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def h200(**changes: Any) -> SimpleNamespace:
    """What torch says of an H200."""
    found: dict[str, Any] = {
        "name": "NVIDIA H200",
        "major": 9,
        "minor": 0,
        "multi_processor_count": 132,
        "warp_size": 32,
        "L2_cache_size": 60 << 20,
        "total_memory": 150_120_300_544,
        "uuid": TorchUuid(UUID),
        "gcnArchName": "NVIDIA H200",
    }
    return SimpleNamespace(**{**found, **changes})


def give_torch(
    monkeypatch: pytest.MonkeyPatch, *devices: Any, cuda: str | None = "13.0", hip: Any = None
) -> None:
    """A torch that was built so and sees these devices."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(devices))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: devices[index])


def give_nvml(monkeypatch: pytest.MonkeyPatch, module: FakeNvml | None) -> None:
    """An installed nvidia-ml-py, or none: None in sys.modules makes an import fail."""
    monkeypatch.setitem(sys.modules, "pynvml", module)
