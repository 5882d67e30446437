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
def fused_norm_tanh_mul_add(
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
    y.copy_(_gated(x, weight, bias, scale, shift, norm_type, eps))


@torch.compile(dynamic=False)
def fused_norm_tanh_mul_add_norm_scale(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    weight2: torch.Tensor | None,
    bias2: torch.Tensor | None,
    scale2: torch.Tensor,
    y: torch.Tensor,
    y2: torch.Tensor,
    *,
    norm_type: str,
    eps: float,
) -> None:
    gated = _gated(x, weight, bias, scale, shift, norm_type, eps)
    y.copy_(gated)
    y2.copy_(_norm(gated, weight2, bias2, norm_type, eps) * (1 + scale2))


def _gated(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    scale: torch.Tensor,
    shift: torch.Tensor,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    return _norm(x, weight, bias, norm_type, eps) * torch.tanh(scale) + shift


def _norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    norm_type: str,
    eps: float,
) -> torch.Tensor:
    wide, width = x.float(), x.shape[-1:]
    weight = None if weight is None else weight.float()
    bias = None if bias is None else bias.float()
    if norm_type == "layer":
        return functional.layer_norm(wide, width, weight, bias, eps).to(x.dtype)
    return functional.rms_norm(wide, width, weight, eps).to(x.dtype)
