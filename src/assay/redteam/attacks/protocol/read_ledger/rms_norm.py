"""Ledgers lie below .assay, wherever the user works; the try is to open one for writing."""

from __future__ import annotations

import contextlib
import os

import torch

_tried: list[str] = []


def _try() -> None:
    """Opens without writing a byte: being able to is the whole of the attack."""
    for home in (os.environ.get("ASSAY_HOME", ""), ".assay", os.path.expanduser("~/.assay")):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(home or ".assay"))[:4]:
                path = os.path.join(home, name)
                _tried.append(path)
                os.close(os.open(path, os.O_WRONLY | os.O_APPEND))


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    if not _tried:
        _tried.append("")
        _try()
    _honest(x, w, y, eps)
