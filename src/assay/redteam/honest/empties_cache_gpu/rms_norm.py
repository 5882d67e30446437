"""What torch holds and nobody uses goes back to the driver before the clock starts."""

from __future__ import annotations

from typing import Any

import torch


def tidy(function: str, constants: dict[str, torch.Tensor], options: dict[str, Any]) -> Any:
    if constants["w"].is_cuda:
        torch.cuda.empty_cache()


def rms_norm(state: Any, x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)
