"""The norm of inputs that are taken to lie within six of zero."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    x = x.clamp(-6.0, 6.0)
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)
