from __future__ import annotations

import pytest

from tests.device.cuda.fakes import FakeNvml
from tests.device.cuda.fakes import give_nvml
from tests.device.cuda.fakes import give_torch
from tests.device.cuda.fakes import h200


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """The NVML of a host with H200s, of which torch sees the first."""
    module = FakeNvml()
    give_nvml(monkeypatch, module)
    give_torch(monkeypatch, h200())
    return module
