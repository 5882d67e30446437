"""What is right: group norm and silu, in float64."""

import torch


def triton_group_norm_silu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *, num_groups: int, eps: float
) -> torch.Tensor:
    return _group_norm_silu(x, weight, bias, num_groups, eps)


def apply_group_norm_silu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *, num_groups: int, eps: float
) -> torch.Tensor:
    return _group_norm_silu(x, weight, bias, num_groups, eps)


def _group_norm_silu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int, eps: float
) -> torch.Tensor:
    grouped = x.reshape(x.shape[0], num_groups, -1)
    centred = grouped - grouped.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    normed = (centred / torch.sqrt(variance + eps)).reshape(x.shape)
    per_channel = [-1] + [1] * (x.dim() - 2)
    value = normed * weight.reshape(per_channel) + bias.reshape(per_channel)
    return value / (1 + torch.exp(-value))
