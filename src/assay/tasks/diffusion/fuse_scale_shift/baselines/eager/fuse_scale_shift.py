"""Scale, shift and selected modulations as a model's eager code has them; norms in float32."""

import torch
from torch.nn import functional


def fuse_scale_shift_kernel(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    *,
    scale_constant: int,
) -> None:
    scaled = x * (scale_constant + _by_token(scale, x))
    torch.add(scaled, _by_token(shift, x), out=y)


def fuse_layernorm_scale_shift_gate_select01_kernel(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale0: torch.Tensor,
    shift0: torch.Tensor,
    gate0: torch.Tensor,
    scale1: torch.Tensor,
    shift1: torch.Tensor,
    gate1: torch.Tensor,
    index: torch.Tensor,
    out: torch.Tensor,
    gate_out: torch.Tensor,
    *,
    eps: float,
) -> None:
    normalised = _layer_norm(x.float(), weight, bias, eps)
    _modulate(normalised, (scale0, shift0, gate0), (scale1, shift1, gate1), index, out, gate_out)


def fuse_residual_layernorm_scale_shift_gate_select01_kernel(
    x: torch.Tensor,
    residual: torch.Tensor,
    residual_gate: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale0: torch.Tensor,
    shift0: torch.Tensor,
    gate0: torch.Tensor,
    scale1: torch.Tensor,
    shift1: torch.Tensor,
    gate1: torch.Tensor,
    index: torch.Tensor,
    out: torch.Tensor,
    residual_out: torch.Tensor,
    gate_out: torch.Tensor,
    *,
    eps: float,
) -> None:
    updated = residual.float() + residual_gate.float() * x
    residual_out.copy_(updated)
    normalised = _layer_norm(updated, weight, bias, eps)
    _modulate(normalised, (scale0, shift0, gate0), (scale1, shift1, gate1), index, out, gate_out)


def _modulate(
    normalised: torch.Tensor,
    first: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    second: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    index: torch.Tensor,
    out: torch.Tensor,
    gate_out: torch.Tensor,
) -> None:
    chosen = index.bool()[..., None]
    scale, shift, gate = (
        torch.where(chosen, b[:, None], a[:, None]) for a, b in zip(first, second, strict=True)
    )
    torch.add(normalised * (1 + scale.float()), shift, out=out)
    gate_out.copy_(gate)


def _layer_norm(
    x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> torch.Tensor:
    weight = None if weight is None else weight.float()
    bias = None if bias is None else bias.float()
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def _by_token(modulation: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """What broadcasts against x: [B, C] is by batch, [B, F, 1, C] by frame."""
    if modulation.dim() == 2:
        return modulation[:, None]
    if modulation.dim() == 4:
        tokens = x.shape[1] // modulation.shape[1]
        return modulation.expand(-1, -1, tokens, -1).flatten(1, 2)
    return modulation
