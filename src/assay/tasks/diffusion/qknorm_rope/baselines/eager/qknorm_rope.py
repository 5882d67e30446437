"""Norm and rotary embedding of q and k as a model's eager code has them, in float32."""

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
) -> None:
    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for heads, weight in ((q, q_weight), (k, k_weight)):
        wide = heads.float()
        normed = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * weight
        turned = normed[..., : cos_sin_cache.shape[1]]
        if is_neox:
            first, second = turned.chunk(2, dim=-1)
            rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        else:
            first, second = turned[..., 0::2], turned[..., 1::2]
            pairs = (first * cos - second * sin, second * cos + first * sin)
            rotated = torch.stack(pairs, dim=-1).flatten(-2)
        heads.copy_(torch.cat((rotated, normed[..., cos_sin_cache.shape[1] :]), dim=-1))
