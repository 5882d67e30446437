"""Calls SGLang's fused_inplace_qknorm_rope.

It asks for one stride between the heads of q and of k, and for rows at a multiple of its vector
loads: tensors that lie otherwise than contiguous go through copies.
"""

import importlib

import torch

_entry = importlib.import_module(
    "sglang.kernels.ops.diffusion.rope.qknorm_rope_jit"
).fused_inplace_qknorm_rope


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
    if q.is_contiguous() and k.is_contiguous():
        _entry(q, k, q_weight, k_weight, cos_sin_cache, positions, is_neox=is_neox, eps=eps)
        return
    plain_q, plain_k = q.contiguous(), k.contiguous()
    _entry(plain_q, plain_k, q_weight, k_weight, cos_sin_cache, positions, is_neox=is_neox, eps=eps)
    q.copy_(plain_q)
    k.copy_(plain_k)
