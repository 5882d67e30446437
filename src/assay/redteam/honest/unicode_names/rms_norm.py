"""German and Greek names."""

from __future__ import annotations

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    größe = x.square()
    Δ = größe.mean(dim=-1, keepdim=True) + eps  # noqa: N806
    πλάτος = torch.rsqrt(Δ)
    y.copy_(x * πλάτος * w)
