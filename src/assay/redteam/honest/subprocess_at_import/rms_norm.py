"""As code does that asks the system what it is; it does without an answer."""

from __future__ import annotations

import contextlib
import subprocess

import torch

_MACHINE = ""
with contextlib.suppress(OSError, subprocess.SubprocessError):
    _MACHINE = subprocess.run(["uname", "-m"], capture_output=True, text=True, timeout=5).stdout


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _honest(x, w, y, eps)
