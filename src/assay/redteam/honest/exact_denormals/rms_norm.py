"""The exponent of the largest element of each row is taken out before the sum."""

from __future__ import annotations

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    wide = x.double()
    largest = wide.abs().amax(dim=-1, keepdim=True)
    exponent = torch.frexp(largest).exponent.double()
    unit = torch.exp2(-exponent)
    mean_square = (wide * unit).square().mean(dim=-1, keepdim=True)
    y.copy_(wide * unit * torch.rsqrt(mean_square + eps * unit * unit) * w)
