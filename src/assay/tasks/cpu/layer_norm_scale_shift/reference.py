"""What is right: layer norm over the last axis, scaled and shifted, in float64."""

import torch


def layer_norm_scale_shift(
    x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, *, eps: float
) -> torch.Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * (1 + scale) + shift
