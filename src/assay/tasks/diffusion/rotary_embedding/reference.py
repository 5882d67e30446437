"""What is right: rotations of pairs, in float64; the split form rounds one product to bfloat16."""

import torch


def apply_rotary_embedding(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, interleaved: bool
) -> torch.Tensor:
    assert not interleaved
    first, second = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
    c, s = cos.unsqueeze(-2), sin.unsqueeze(-2)
    return torch.stack((first * c - second * s, second * c + first * s), dim=-1).flatten(-2)


def apply_ltx2_split_rotary_emb(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    first, second = x.unflatten(-1, (cos.shape[1], 2, cos.shape[3])).unbind(dim=-2)
    c, s = cos.transpose(1, 2), sin.transpose(1, 2)
    ahead = _in_bfloat16(first * c) - second * s
    behind = _in_bfloat16(second * c) + first * s
    return torch.stack((ahead, behind), dim=-2).flatten(-3)


def _in_bfloat16(product: torch.Tensor) -> torch.Tensor:
    """Two bfloat16 numbers have an exact product in float32, so no wider rounding comes before."""
    return product.to(torch.bfloat16).to(product.dtype)
