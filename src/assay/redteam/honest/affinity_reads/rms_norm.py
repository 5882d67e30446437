"""As many parts as there are cores for it."""

from __future__ import annotations

import os
import resource

import torch


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    parts = len(os.sched_getaffinity(0))
    room = resource.getrlimit(resource.RLIMIT_AS)[0]
    block = max(1, x.shape[0] // parts) if room else x.shape[0]
    for first in range(0, x.shape[0], block):
        _honest(x[first : first + block], w, y[first : first + block], eps)
