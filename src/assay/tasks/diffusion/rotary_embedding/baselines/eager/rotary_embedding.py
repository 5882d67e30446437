"""Both rotary embeddings as a model's eager code has them, written to the given output."""

import torch


def apply_rotary_embedding(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor, *, interleaved: bool
) -> None:
    first, second = x.float().unflatten(-1, (-1, 2)).unbind(dim=-1)
    c, s = cos.float().unsqueeze(-2), sin.float().unsqueeze(-2)
    y.copy_(torch.stack((first * c - second * s, second * c + first * s), dim=-1).flatten(-2))


def apply_ltx2_split_rotary_emb(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor
) -> None:
    _, heads, _, half = cos.shape
    halves, turned = x.unflatten(-1, (heads, 2, half)), y.unflatten(-1, (heads, 2, half))
    c, s = cos.transpose(1, 2), sin.transpose(1, 2)
    turned.copy_(halves * c.unsqueeze(3))
    turned[..., 0, :].addcmul_(halves[..., 1, :], s, value=-1)
    turned[..., 1, :].addcmul_(halves[..., 0, :], s)
