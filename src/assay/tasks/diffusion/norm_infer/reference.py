"""What is right: layer norm and root-mean-square norm over the last axis, in float64."""

import torch


def norm_infer(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    *,
    eps: float,
    is_rms_norm: bool,
) -> torch.Tensor:
    centred = x if is_rms_norm else x - x.mean(dim=-1, keepdim=True)
    y = centred / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + eps)
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return y


def triton_one_pass_rms_norm(x: torch.Tensor, w: torch.Tensor, *, eps: float) -> torch.Tensor:
    mean_square = (x * x).mean(dim=-1, keepdim=True)
    return x / torch.sqrt(mean_square + eps) * w
