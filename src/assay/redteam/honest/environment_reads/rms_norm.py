"""The number of threads that the environment asks for."""

from __future__ import annotations

import os
import sys

import torch

_THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
_ARGUMENTS = len(sys.argv)


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    block = max(1, x.shape[0] // _THREADS)
    for first in range(0, x.shape[0], block):
        _honest(x[first : first + block], w, y[first : first + block], eps)
