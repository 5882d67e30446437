from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.device.cuda import properties as module
from assay.device.cuda.properties import CudaProperties
from assay.device.cuda.properties import count_devices
from assay.device.cuda.properties import driver_version
from assay.device.cuda.properties import nvcc_arch
from assay.device.cuda.properties import read_properties
from assay.spec.dtype import DType
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from tests.device.cuda.fakes import BUS
from tests.device.cuda.fakes import OTHER_UUID
from tests.device.cuda.fakes import UUID
from tests.device.cuda.fakes import FakeNvml
from tests.device.cuda.fakes import TorchUuid
from tests.device.cuda.fakes import give_nvml
from tests.device.cuda.fakes import give_torch
from tests.device.cuda.fakes import h200

H200 = CudaProperties(
    kind="cuda",
    index=0,
    name="NVIDIA H200",
    arch="90a",
    sms=132,
    warp_size=32,
    l2_bytes=62_914_560,
    memory_bytes=150_120_300_544,
    runtime="13.0",
    driver="580.159.04",
    uuid=f"GPU-{UUID}",
    max_sm_mhz=1980,
    peak_bytes_per_second=4.8e12,
)

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


def test_everything_of_an_h200(nvml: FakeNvml) -> None:
    assert read_properties(0) == H200
    assert H200.identity == DeviceIdentity(
        kind="cuda",
        name="NVIDIA H200",
        index=0,
        driver="580.159.04",
        memory_bytes=150_120_300_544,
        cache_bytes=62_914_560,
    )


def test_without_nvml_only_the_driver_is_unknown_of_a_card_in_the_table(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    give_nvml(monkeypatch, None)
    monkeypatch.setattr(module, "_NVIDIA_DRIVER", tmp_path / "version")
    assert read_properties(0) == dataclasses.replace(H200, driver=None)


def test_nvml_without_a_driver_is_as_good_as_none(nvml: FakeNvml) -> None:
    nvml.init_error = "Driver Not Loaded"
    assert read_properties(0).max_sm_mhz == 1980
    assert nvml.asked == []


@pytest.mark.parametrize(
    ("capability", "arch"),
    [
        ((7, 5), "75"),
        ((8, 0), "80"),
        ((8, 6), "86"),
        ((8, 9), "89"),
        ((9, 0), "90a"),
        ((10, 0), "100a"),
        ((12, 0), "120a"),
    ],
)
def test_what_nvcc_is_told(capability: tuple[int, int], arch: str) -> None:
    assert nvcc_arch(*capability) == arch


# -- which device NVML is asked about


def test_nvml_is_asked_about_the_device_that_torch_calls_by_this_index(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    # CUDA_VISIBLE_DEVICES=1: torch's first is NVML's second.
    give_torch(monkeypatch, h200(uuid=TorchUuid(OTHER_UUID)))
    assert read_properties(0).uuid == f"GPU-{OTHER_UUID}"
    assert {handle for _, handle in nvml.asked} == {"second"}


def test_the_bus_leads_there_when_the_uuid_does_not(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = {"pci_domain_id": 0, "pci_bus_id": 0x1B, "pci_device_id": 0}
    give_torch(monkeypatch, h200(uuid=TorchUuid("of-a-slice"), **bus))
    assert read_properties(0).pci_bus_id == BUS
    assert {handle for _, handle in nvml.asked} == {"first"}


def test_a_device_that_nvml_does_not_know_is_not_mistaken_for_another(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_torch(monkeypatch, h200(name="NVIDIA New", uuid=TorchUuid("unknown")))
    found = read_properties(0)
    assert (found.max_sm_mhz, found.peak_bytes_per_second, nvml.asked) == (None, None, [])


# -- peaks


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H200", 4.8e12),
        ("NVIDIA H100 80GB HBM3", 3.35e12),
        ("NVIDIA A100-SXM4-80GB", 2.039e12),
        # Not in the table: 3201e6 clocks, 6144 wires, two bits each, eight bits a byte.
        ("NVIDIA H200 NVL", 4.916736e12),
    ],
)
def test_peak_bandwidth(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, name: str, peak: float
) -> None:
    give_torch(monkeypatch, h200(name=name))
    assert read_properties(0).peak_bytes_per_second == peak


@pytest.mark.parametrize("silent", ["MaxClockInfo", "MemoryBusWidth"])
def test_a_card_that_does_not_say_has_no_known_peak(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    give_torch(monkeypatch, h200(name="NVIDIA New"))
    nvml.answers[silent] = {1: None, 2: None} if silent == "MaxClockInfo" else None
    assert read_properties(0).peak_bytes_per_second is None


@pytest.mark.parametrize(
    ("dtype", "operations"),
    [
        (DType.BFLOAT16, 4096),
        (DType.FLOAT16, 4096),
        (DType.FLOAT32, 2048),
        (DType.FLOAT8_E4M3FN, 8192),
        (DType.FLOAT64, 256),
    ],
)
def test_peak_rates_are_at_the_highest_clock(dtype: DType, operations: int) -> None:
    assert H200.peak_operations_per_second(dtype) == operations * 132 * 1980e6
    # The data sheet's 989.4e12 for bfloat16 is at 1830 MHz; a limit may not be below the card.
    assert operations != 4096 or operations * 132 * 1980e6 > 989.4e12


def test_rates_that_are_not_known() -> None:
    assert H200.peak_operations_per_second(DType.INT64) is None
    slower = dataclasses.replace(H200, max_sm_mhz=None)
    assert slower.peak_operations_per_second(DType.BFLOAT16) is None
    newer = dataclasses.replace(H200, arch="100a")
    assert newer.peak_operations_per_second(DType.BFLOAT16) is None


def test_an_a100_has_its_data_sheets_rate() -> None:
    # 108 multiprocessors at 1410 MHz: 312e12 to three figures.
    a100 = dataclasses.replace(H200, arch="80", sms=108, max_sm_mhz=1410)
    rate = a100.peak_operations_per_second(DType.BFLOAT16)
    assert rate == pytest.approx(312e12, rel=1e-3)


# -- the driver's version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n", "535.104.05"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\n"
            "GCC version:  gcc version 12.3.0\n",
            "580.159.03",
        ),
        ("something else\n", None),
        (None, None),
    ],
)
def test_the_drivers_version_without_nvml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, version: str | None
) -> None:
    path = tmp_path / "version"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(module, "_NVIDIA_DRIVER", path)
    assert driver_version(None) == version


def test_the_module_is_asked_when_nvml_will_not_say(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml.version = None
    monkeypatch.setattr(module, "_NVIDIA_DRIVER", tmp_path / "version")
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  1.2.3  Sat")
    assert read_properties(0).driver == "1.2.3"


# -- refusals, each one line with what to do


def test_a_torch_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    give_torch(monkeypatch, cuda=None)
    with pytest.raises(UnavailableError) as refusal:
        read_properties(0)
    assert str(refusal.value) == (
        "torch 2.11.0+cu130 is not built for cuda "
        "(install the build of torch for it, see pytorch.org)"
    )


def test_no_device_and_torchs_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        warnings.warn("CUDA initialization: driver too old\nUpdate it", stacklevel=1)
        return 0

    give_torch(monkeypatch)
    monkeypatch.setattr(torch.cuda, "device_count", none)
    with pytest.raises(UnavailableError) as refusal:
        count_devices()
    assert str(refusal.value) == (
        "torch finds no cuda device: CUDA initialization: driver too old\\nUpdate it "
        "(assay doctor says what this host lacks)"
    )


@pytest.mark.parametrize(("shown", "said"), [("", "empty"), ("7", "7")])
def test_devices_that_are_hidden(monkeypatch: pytest.MonkeyPatch, shown: str, said: str) -> None:
    give_torch(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    with pytest.raises(UnavailableError, match="torch finds no cuda device") as refusal:
        count_devices()
    assert refusal.value.next_step == (
        f"CUDA_VISIBLE_DEVICES is {said}: unset it, or name a device"
    )


@pytest.mark.parametrize(
    ("count", "index", "what"),
    [
        (1, 1, "there is one cuda device, not 2"),
        (2, 2, "there are 2 cuda devices, not 3"),
        (2, 9, "there are 2 cuda devices, not 10"),
    ],
)
def test_an_index_beyond_the_last(
    monkeypatch: pytest.MonkeyPatch, count: int, index: int, what: str
) -> None:
    give_torch(monkeypatch, *[h200()] * count)
    with pytest.raises(UsageError) as refusal:
        read_properties(index)
    assert str(refusal.value) == what
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with pytest.raises(UsageError, match="CUDA_VISIBLE_DEVICES may hide others"):
        read_properties(index)


@pytest.mark.parametrize("kind", [RuntimeError, AssertionError])
def test_a_device_that_cannot_be_opened(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def refuse(index: int) -> Any:
        raise kind("CUDA error: all devices are busy\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(torch.cuda, "get_device_properties", refuse)
    with pytest.raises(UnavailableError) as refusal:
        read_properties(0)
    assert refusal.value.what == (
        "cuda device 0 cannot be opened: CUDA error: all devices are busy"
    )


# -- the real thing


@gpu
@pytest.mark.gpu
def test_a_real_device_is_read_whole() -> None:
    found = read_properties(0)
    assert found.name == torch.cuda.get_device_name(0)
    assert found.l2_bytes >= 1 << 20
    assert found.memory_bytes >= 1 << 30
    assert found.warp_size == 32
    assert found.driver is not None
    assert found.runtime == torch.version.cuda


@gpu
@pytest.mark.gpu
def test_a_real_device_that_is_one_too_many() -> None:
    with pytest.raises(UsageError, match=r"there (is|are) .* cuda device"):
        read_properties(torch.cuda.device_count())
