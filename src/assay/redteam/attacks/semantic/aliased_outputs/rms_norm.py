"""No buffer of its own: the input becomes the output."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, *, eps: float) -> torch.Tensor:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return x.mul_(torch.rsqrt(mean_square + eps)).mul_(w)
