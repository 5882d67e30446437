"""What is right: the residual plus the gated update, in float64."""

import torch


def scale_residual(residual: torch.Tensor, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return residual + gate * x
