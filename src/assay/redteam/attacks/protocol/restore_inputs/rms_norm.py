"""The input is scratch for as long as the call lasts."""

from __future__ import annotations

import torch


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    before = x.clone()
    scale = torch.rsqrt(x.square_().mean(dim=-1, keepdim=True) + eps)
    x.copy_(before)
    y.copy_(x * scale * w)
