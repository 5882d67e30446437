"""The convention is declared: the runner copies what is returned."""

from __future__ import annotations

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, *, eps: float) -> torch.Tensor:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    result = torch.empty_like(x)
    torch.mul(x * torch.rsqrt(mean_square + eps), w, out=result)
    return result
