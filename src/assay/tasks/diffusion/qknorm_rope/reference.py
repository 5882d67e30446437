"""What is right: a norm over each head, then a rotation of its pairs, in float64."""

import torch


def fused_inplace_qknorm_rope(
    q: torch.Tensor,
    k: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    positions: torch.Tensor,
    *,
    is_neox: bool,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    angles = cos_sin_cache[positions]
    return (
        _rotated(_normed(q, q_weight, eps), angles, is_neox),
        _rotated(_normed(k, k_weight, eps), angles, is_neox),
    )


def _normed(heads: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    mean_square = (heads * heads).mean(dim=-1, keepdim=True)
    return heads / torch.sqrt(mean_square + eps) * weight


def _rotated(heads: torch.Tensor, angles: torch.Tensor, is_neox: bool) -> torch.Tensor:
    """Cosines are the first half of an angle's row, sines the second."""
    turned, kept = heads.tensor_split([angles.shape[-1]], dim=-1)
    cos, sin = angles.unsqueeze(-2).chunk(2, dim=-1)
    first, second = _pairs(turned, is_neox)
    ahead = first * cos - second * sin
    behind = second * cos + first * sin
    return torch.cat((_joined(ahead, behind, is_neox), kept), dim=-1)


def _pairs(turned: torch.Tensor, is_neox: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Element i with i + half (neox), or two neighbours."""
    if is_neox:
        first, second = turned.chunk(2, dim=-1)
    else:
        first, second = turned.unflatten(-1, (-1, 2)).unbind(dim=-1)
    return first, second


def _joined(first: torch.Tensor, second: torch.Tensor, is_neox: bool) -> torch.Tensor:
    stacked = torch.stack((first, second), dim=-1)
    return stacked.transpose(-1, -2).flatten(-2) if is_neox else stacked.flatten(-2)
