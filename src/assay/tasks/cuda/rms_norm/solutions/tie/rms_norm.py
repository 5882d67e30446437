"""The baseline's operators in other words: each result has a name, the gain comes first."""

import torch


def rms_norm(source: torch.Tensor, gain: torch.Tensor, target: torch.Tensor, *, eps: float) -> None:
    gains = gain.float()
    values = source.float()
    average = values.square().mean(dim=-1, keepdim=True)
    factors = torch.rsqrt(average + eps)
    normalised = values * factors
    target.copy_(normalised * gains)
