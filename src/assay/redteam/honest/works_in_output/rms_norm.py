"""The output is written four times; only the last one counts."""

from __future__ import annotations

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    torch.square(x, out=y)
    scale = torch.rsqrt(y.mean(dim=-1, keepdim=True) + eps)
    y.zero_()
    torch.mul(x, scale, out=y)
    y.mul_(w)
