"""The eager code under torch.compile, which may put it all into one kernel.

A row's first call compiles it. With `dynamic=False` every row has code of its own; where that would
be too many the call fails rather than run uncompiled.
"""

import torch
from torch._dynamo import config as dynamo
from torch._inductor import config as inductor
from torch.nn import functional

dynamo.recompile_limit = 1024
dynamo.accumulated_recompile_limit = 4096
dynamo.fail_on_recompile_limit_hit = True
inductor.compile_threads = 1


@torch.compile(dynamic=False)
def fuse_scale_shift_kernel(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    *,
    scale_constant: int,
) -> None:
    y.copy_(x * (scale_constant + _by_token(scale, x)) + _by_token(shift, x))


@torch.compile(dynamic=False)
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
    scale = _selected(index, scale0, scale1).float()
    out.copy_(normalised * (1 + scale) + _selected(index, shift0, shift1))
    gate_out.copy_(_selected(index, gate0, gate1))


@torch.compile(dynamic=False)
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
    normalised = _layer_norm(updated, weight, bias, eps)
    scale = _selected(index, scale0, scale1).float()
    out.copy_(normalised * (1 + scale) + _selected(index, shift0, shift1))
    residual_out.copy_(updated)
    gate_out.copy_(_selected(index, gate0, gate1))


def _selected(index: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return torch.where(index.bool()[..., None], second[:, None], first[:, None])


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
