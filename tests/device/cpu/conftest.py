from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.device.cpu import CpuDevice
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    """One device for a module: its zygote loads torch once."""
    with CpuDevice() as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened
