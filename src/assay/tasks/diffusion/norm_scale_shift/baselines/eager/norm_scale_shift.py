"""Norm, scale and shift as a model's eager code has them: the norm in float32, then modulated."""

import torch
from torch.nn import functional


def fused_norm_scale_shift(
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
    _modulated_norm(x.float(), weight, bias, scale, shift, y, norm_type, eps)


def fused_scale_residual_norm_scale_shift(
    residual: torch.Tensor,
    x: torch.Tensor,
    gate: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    res_out: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    updated = residual.float() + (x if gate is None else x.float() * _by_token(gate, x))
    res_out.copy_(updated)
    _modulated_norm(updated, weight, bias, scale, shift, y, norm_type, eps)


def _modulated_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    norm_type: str,
    eps: float,
) -> None:
    weight = None if weight is None else weight.float()
    bias = None if bias is None else bias.float()
    if norm_type == "layer":
        normalised = functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
    else:
        normalised = functional.rms_norm(x, x.shape[-1:], weight, eps)
    normalised = normalised.to(y.dtype)
    torch.add(normalised * (1 + _by_token(scale, x)), _by_token(shift, x), out=y)


def _by_token(modulation: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """What broadcasts against x: [B, D] is by batch, [B, F, 1, D] by frame."""
    if modulation.dim() == 2:
        return modulation[:, None]
    if modulation.dim() == 4:
        tokens = x.shape[1] // modulation.shape[1]
        return modulation.expand(-1, -1, tokens, -1).flatten(1, 2)
    return modulation
