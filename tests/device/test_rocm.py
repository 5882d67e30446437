from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.device import device_names
from assay.device import open_device
from assay.device.cuda import properties
from assay.device.cuda.properties import read_properties
from assay.device.rocm import RocmDevice
from assay.spec.dtype import DType
from assay.spec.environment import DeviceIdentity
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from tests.device.cuda.fakes import give_nvml
from tests.device.cuda.fakes import give_torch
from tests.device.cuda.fakes import h200


def mi300x() -> SimpleNamespace:
    return h200(
        name="AMD Instinct MI300X",
        major=9,
        minor=4,
        multi_processor_count=304,
        warp_size=64,
        L2_cache_size=4 << 20,
        total_memory=192 << 30,
        gcnArchName="gfx942:sramecc+:xnack-",
    )


@pytest.fixture
def amd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A host with one AMD GPU and torch's ROCm build, and without NVML."""
    give_torch(monkeypatch, mi300x(), cuda=None, hip="6.4.43482")
    give_nvml(monkeypatch, None)
    monkeypatch.setattr(properties, "_AMD_DRIVER", tmp_path / "version")
    (tmp_path / "version").write_text("6.12.12\n")
    return monkeypatch


def test_the_device_is_found_by_its_name() -> None:
    assert "rocm" in device_names()


def test_a_torch_without_rocm_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    give_torch(monkeypatch, h200())
    with pytest.raises(UnavailableError) as refusal:
        open_device("rocm")
    assert str(refusal.value) == (
        "torch 2.11.0+cu130 is not built for rocm "
        "(install the build of torch for it, see pytorch.org)"
    )


def test_a_rocm_build_is_no_cuda_build(amd: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnavailableError, match="is not built for cuda"):
        open_device("cuda")


def test_what_is_read_of_an_amd_device(amd: pytest.MonkeyPatch) -> None:
    found = read_properties(0, rocm=True)
    assert (found.kind, found.arch, found.warp_size, found.sms) == ("rocm", "gfx942", 64, 304)
    assert (found.runtime, found.driver) == ("6.4.43482", "6.12.12")
    assert (found.l2_bytes, found.memory_bytes) == (4_194_304, 206_158_430_208)
    assert found.peak_bytes_per_second is None
    assert found.peak_operations_per_second(DType.BFLOAT16) is None


def test_an_amd_driver_that_says_no_version(amd: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "version").unlink()
    assert read_properties(0, rocm=True).driver is None


def test_it_says_what_it_is_and_that_nobody_has_proven_it(amd: pytest.MonkeyPatch) -> None:
    device = open_device("rocm:0")
    assert isinstance(device, RocmDevice)
    assert device.labels == ("unproven: never run on AMD hardware",)
    assert device.identity == DeviceIdentity(
        kind="rocm",
        name="AMD Instinct MI300X, gfx942 (unproven: never run on AMD hardware)",
        driver="6.12.12",
        memory_bytes=192 << 30,
        cache_bytes=4 << 20,
    )
    assert (device.target.kind, device.target.arch) == ("rocm", "gfx942")


def test_no_device_or_too_few(amd: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="there is one rocm device, not 2"):
        open_device("rocm:1")
    give_torch(amd, cuda=None, hip="6.4.43482")
    amd.setenv("HIP_VISIBLE_DEVICES", "")
    with pytest.raises(UnavailableError) as refusal:
        open_device("rocm")
    assert str(refusal.value) == (
        "torch finds no rocm device (HIP_VISIBLE_DEVICES is empty: unset it, or name a device)"
    )
