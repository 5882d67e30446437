"""Marks of tests that need what few hosts have; without it they are skipped by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import TypeVar

import pytest
import torch

from assay.judge.toolchain import NVCC

T = TypeVar("T", bound=Callable[..., Any])

needs_nvcc = pytest.mark.skipif(NVCC.find() is None, reason="needs nvcc")


def needs_gpu(test: T) -> T:
    """`device_count`, not `is_available`: it asks NVML, and leaves a process fit to fork."""
    absent = torch.cuda.device_count() == 0
    skipped = pytest.mark.skipif(absent, reason="needs an NVIDIA GPU")(test)
    marked: T = pytest.mark.gpu(skipped)
    return marked
