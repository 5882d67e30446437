"""What is right: group norm and silu, in float64."""

import math

import torch


def group_norm_silu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *, num_groups: int, eps: float
) -> torch.Tensor:
    group_size = math.prod(x.shape[1:]) // num_groups
    grouped = x.reshape(x.shape[0], num_groups, group_size)
    centred = grouped - grouped.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    normalised = (centred / torch.sqrt(variance + eps)).reshape(x.shape)
    per_channel = [-1] + [1] * (x.dim() - 2)
    value = normalised * weight.reshape(per_channel) + bias.reshape(per_channel)
    return value / (1 + torch.exp(-value))
