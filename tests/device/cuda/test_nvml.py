from __future__ import annotations

import pytest

from assay.device.cuda.nvml import Nvml
from assay.spec.errors import UnavailableError
from tests.device.cuda.fakes import BUS
from tests.device.cuda.fakes import UUID
from tests.device.cuda.fakes import FakeNvml
from tests.device.cuda.fakes import give_nvml


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    give_nvml(monkeypatch, None)
    with pytest.raises(UnavailableError) as refusal:
        Nvml()
    assert str(refusal.value) == "nvidia-ml-py is not there (install nvidia-ml-py)"


def test_without_a_driver(nvml: FakeNvml) -> None:
    nvml.init_error = "Driver\nNot Loaded"
    with pytest.raises(UnavailableError) as refusal:
        Nvml()
    assert str(refusal.value) == (
        "NVML does not answer (see that nvidia-smi works: Driver\\nNot Loaded)"
    )


def test_a_question_that_is_not_known_or_is_refused_has_no_answer(nvml: FakeNvml) -> None:
    nvml.answers["PowerUsage"] = None
    assert Nvml().device("PowerUsage", "first") is None
    assert Nvml().device("Weather", "first") is None
    assert Nvml().device("MemoryBusWidth", "first") == 6144


def test_nothing_but_questions_can_be_put(nvml: FakeNvml) -> None:
    told: list[object] = []
    nvml.nvmlDeviceSetGpuLockedClocks = told.append  # type: ignore[attr-defined]
    assert Nvml().device("nvmlDeviceSetGpuLockedClocks", "first") is None
    assert told == []


def test_a_device_is_found_by_what_it_is_and_never_by_its_number(nvml: FakeNvml) -> None:
    library = Nvml()
    assert library.find(f"GPU-{UUID}", None) == "first"
    assert library.find("GPU-unknown", BUS) == "first"
    assert library.find(None, BUS) == "first"
    assert library.find("GPU-unknown", None) is None
    assert library.find(None, None) is None
