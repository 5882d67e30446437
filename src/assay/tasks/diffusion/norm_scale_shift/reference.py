"""What is right: norm, scale and shift without any rounding between the steps, in float64."""

import torch

# Where a scale, shift or gate of so many axes has none of its own, in terms of [B, F, S / F, D].
_MISSING = {
    1: (None, None, None),
    2: (slice(None), None, None),
    3: (slice(None), None),
    4: (),
}


def fused_norm_scale_shift(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    normalised = _norm(x, weight, bias, norm_type, eps)
    return normalised * (1 + _of_tokens(scale, x)) + _of_tokens(shift, x)


def fused_scale_residual_norm_scale_shift(
    residual: torch.Tensor,
    x: torch.Tensor,
    gate: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    update = x if gate is None else _of_tokens(gate, x) * x
    updated = residual + update
    y = fused_norm_scale_shift(updated, weight, bias, scale, shift, norm_type=norm_type, eps=eps)
    return y, updated


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    if norm_type == "layer":
        x = x - x.mean(dim=-1, keepdim=True)
    normalised = x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps)
    if weight is not None:
        normalised = normalised * weight
    if bias is not None:
        normalised = normalised + bias
    return normalised


def _of_tokens(modulation: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """As large as x; the tokens of one frame share a modulation that is given by frame."""
    modulation = modulation[_MISSING[modulation.dim()]]
    batch, tokens, width = x.shape
    frames = modulation.shape[1]
    return modulation.expand(batch, frames, tokens // frames, width).flatten(1, 2)
