"""Device memory as the referee reads and writes it."""

from __future__ import annotations

import os

import pytest
import torch

from assay.device.cuda.memory import GpuMemory
from assay.wire.gpu_memory import Driver
from tests.gpu import needs_gpu


def memory() -> GpuMemory:
    torch.zeros(1, device="cuda")
    made = GpuMemory(Driver(0), 4 << 20)
    made.flat.zero_()
    torch.cuda.synchronize()
    return made


@needs_gpu
@pytest.mark.parametrize("count", [1, 2, 7, 64, 256, 4094, 32766, 32768, 131072])
def test_what_is_written_is_read_and_nothing_beside_it(count: int) -> None:
    made = memory()
    data = os.urandom(count)
    made.write(4096, data)
    assert made.read(4096, count) == data
    assert made.read(4096 - 64, 64) == bytes(64)
    assert made.read(4096 + count, 64) == bytes(64)
    made.close()


@needs_gpu
@pytest.mark.parametrize(
    ("width", "pitch", "lines"), [(64, 4096, 256), (1, 3, 7), (64, 64, 5), (48, 1 << 20, 3)]
)
def test_a_column_has_one_line_of_each(width: int, pitch: int, lines: int) -> None:
    made = memory()
    made.flat.copy_(torch.randint(0, 256, (made.size,), dtype=torch.uint8))
    torch.cuda.synchronize()
    found = made.column(100, width, pitch, lines)
    for number, line in enumerate(found):
        assert line.tobytes() == made.read(100 + number * pitch, width)
    assert found.shape == (lines, width)
    made.close()
