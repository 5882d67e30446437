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
def fused_norm_scale_shift(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    normalised = _norm(x.float(), weight, bias, norm_type, eps).to(x.dtype)
    y.copy_(normalised * (1 + _by_token(scale, x)) + _by_token(shift, x))


@torch.compile(dynamic=False)
def fused_scale_residual_norm_scale_shift(
    residual: torch.Tensor,
    x: torch.Tensor,
    gate: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    res_out: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    updated = residual.float() + (x if gate is None else x.float() * _by_token(gate, x))
    normalised = _norm(updated, weight, bias, norm_type, eps).to(x.dtype)
    res_out.copy_(updated)
    y.copy_(normalised * (1 + _by_token(scale, x)) + _by_token(shift, x))


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    weight = None if weight is None else weight.float()
    bias = None if bias is None else bias.float()
    if norm_type == "layer":
        return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return functional.rms_norm(x, x.shape[-1:], weight, eps)


def _by_token(modulation: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """What broadcasts against x: [B, D] is by batch, [B, F, 1, D] by frame."""
    if modulation.dim() == 2:
        return modulation[:, None]
    if modulation.dim() == 4:
        tokens = x.shape[1] // modulation.shape[1]
        return modulation.expand(-1, -1, tokens, -1).flatten(1, 2)
    return modulation
