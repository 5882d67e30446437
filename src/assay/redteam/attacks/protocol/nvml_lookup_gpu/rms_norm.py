"""The calls are looked up and never made: what they would meet is shown by a test."""

from __future__ import annotations

import contextlib
import ctypes

import torch

_SETTERS = (
    "nvmlDeviceSetGpuLockedClocks",
    "nvmlDeviceSetApplicationsClocks",
    "nvmlDeviceSetPowerManagementLimit",
)
_looked: list[str] = []


def _look() -> None:
    with contextlib.suppress(OSError):
        library = ctypes.CDLL("libnvidia-ml.so.1")
        _looked.extend(name for name in _SETTERS if hasattr(library, name))


def _work(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    wide = x.double()
    y.copy_(wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    if not _looked:
        _look()
        _looked.append("done")
    _work(x, w, y, eps)
