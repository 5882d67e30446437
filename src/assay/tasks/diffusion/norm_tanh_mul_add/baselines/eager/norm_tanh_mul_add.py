"""The gated norm as a model's eager code has it: the norm in float32, then tanh, product, sum."""

import torch
from torch.nn import functional


def fused_norm_tanh_mul_add(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    normalised = _norm(x, weight, bias, norm_type, eps)
    torch.add(normalised * torch.tanh(scale), shift, out=y)


def fused_norm_tanh_mul_add_norm_scale(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    weight2: torch.Tensor | None,
    bias2: torch.Tensor | None,
    scale2: torch.Tensor,
    y: torch.Tensor,
    y2: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    fused_norm_tanh_mul_add(x, weight, bias, scale, shift, y, norm_type=norm_type, eps=eps)
    torch.mul(_norm(y, weight2, bias2, norm_type, eps), 1 + scale2, out=y2)


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    wide, width = x.float(), x.shape[-1:]
    weight = None if weight is None else weight.float()
    bias = None if bias is None else bias.float()
    if norm_type == "layer":
        return functional.layer_norm(wide, width, weight, bias, eps).to(x.dtype)
    return functional.rms_norm(wide, width, weight, eps).to(x.dtype)
