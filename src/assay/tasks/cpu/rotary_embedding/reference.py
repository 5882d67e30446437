"""What is right: each pair turned by its angle, in float64."""

import torch


def rotary_embedding(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x[..., 0], x[..., 1]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
