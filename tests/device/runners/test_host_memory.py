"""What is lent cannot be taken away from under the referee."""

from __future__ import annotations

import fcntl
import os

import pytest

from assay.device.runners.host_memory import HostMemory


@pytest.mark.parametrize("size", [0, 4095, 8192])
def test_a_borrower_cannot_change_its_size(size: int) -> None:
    memory = HostMemory(4096, "assay-test")
    borrowed = os.dup(memory.descriptor)
    try:
        with pytest.raises(PermissionError):
            os.ftruncate(borrowed, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(borrowed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        memory.write(4090, b"still")
        assert memory.read(4090, 5) == b"still"
    finally:
        os.close(borrowed)
        memory.close()
