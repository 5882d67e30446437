"""Rows do not depend on each other, so that the order changes no bit."""

from __future__ import annotations

import random

import torch

_PARTS = 4


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    block = -(-x.shape[0] // _PARTS)
    firsts = list(range(0, x.shape[0], block))
    random.shuffle(firsts)
    for first in firsts:
        _honest(x[first : first + block], w, y[first : first + block], eps)
