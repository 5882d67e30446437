"""What is right: a norm gated by a tanh, without any rounding between the steps, in float64."""

import torch
from torch.nn import functional


def fused_norm_tanh_mul_add(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    return _norm(x, weight, bias, norm_type, eps) * torch.tanh(scale) + shift


def fused_norm_tanh_mul_add_norm_scale(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    weight2: torch.Tensor | None,
    bias2: torch.Tensor | None,
    scale2: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    y = fused_norm_tanh_mul_add(x, weight, bias, scale, shift, norm_type=norm_type, eps=eps)
    return y, _norm(y, weight2, bias2, norm_type, eps) * (1 + scale2)


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    if norm_type == "layer":
        return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
    normalised = x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps)
    if weight is not None:
        normalised = normalised * weight
    return normalised
