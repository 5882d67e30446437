"""Nearly the right tensor: one axis more, and half the bits."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, *, eps: float) -> torch.Tensor:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return (x * torch.rsqrt(mean_square + eps) * w).to(torch.bfloat16)[None]
