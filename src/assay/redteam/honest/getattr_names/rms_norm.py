"""As a table of operators does that is read from a configuration."""

from __future__ import annotations

import torch

_STEPS = ("sq" + "uare", "me" + "an", "rsq" + "rt")


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    square, mean, root = (getattr(torch, name) for name in _STEPS)
    y.copy_(x * root(mean(square(x), dim=-1, keepdim=True) + eps) * w)
