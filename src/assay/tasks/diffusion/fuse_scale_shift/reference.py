"""What is right: scale and shift, and modulated norms, without rounding in between, in float64."""

import torch

# Where a scale or shift of so many axes has none of its own, in terms of [B, F, L / F, C].
_MISSING = {
    1: (None, None, None),
    2: (slice(None), None, None),
    3: (slice(None), None),
    4: (),
}


def fuse_scale_shift_kernel(
    x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, *, scale_constant: int
) -> torch.Tensor:
    return x * (scale_constant + _of_tokens(scale, x)) + _of_tokens(shift, x)


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
    *,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    normalised = _layer_norm(x, weight, bias, eps)
    scale = _selected(index, scale0, scale1)
    shift = _selected(index, shift0, shift1)
    return normalised * (1 + scale) + shift, _selected(index, gate0, gate1)


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
    *,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    updated = residual + residual_gate * x
    out, gate = fuse_layernorm_scale_shift_gate_select01_kernel(
        updated,
        weight,
        bias,
        scale0,
        shift0,
        gate0,
        scale1,
        shift1,
        gate1,
        index,
        eps=eps,
    )
    return out, updated, gate


def _layer_norm(
    x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> torch.Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    normalised = centred / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + eps)
    if weight is not None:
        normalised = normalised * weight
    if bias is not None:
        normalised = normalised + bias
    return normalised


def _selected(index: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """For every token the first or second row of its batch."""
    return torch.where(index.bool()[..., None], second[:, None], first[:, None])


def _of_tokens(modulation: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """As large as x; the tokens of one frame share a modulation that is given by frame."""
    modulation = modulation[_MISSING[modulation.dim()]]
    batch, tokens, width = x.shape
    frames = modulation.shape[1]
    return modulation.expand(batch, frames, tokens // frames, width).flatten(1, 2)
