"""Calls SGLang's fuse_scale_shift_kernel and its two select01 functions.

All make their outputs by `empty_like`, in the order in which they return them; in their module
that hands out ours, so the bytes that they move are their own and no copy comes after.
"""

import importlib
import types

import torch

_kernels = importlib.import_module("sglang.kernels.ops.diffusion.modulate.scale_shift_triton")

_due: list[torch.Tensor] = []


def _empty_like(like: torch.Tensor) -> torch.Tensor:
    return _due.pop() if _due else torch.empty_like(like)


def _lend(module: types.ModuleType) -> None:
    """Let a module that allocates what it returns have the outputs of the task in their place."""
    lent = types.ModuleType("torch")
    vars(lent).update(vars(torch), empty_like=_empty_like)
    vars(module)["torch"] = lent


def _deliver(made: torch.Tensor, output: torch.Tensor) -> None:
    if made.data_ptr() != output.data_ptr():
        output.copy_(made)


_lend(_kernels)


def fuse_scale_shift_kernel(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    y: torch.Tensor,
    *,
    scale_constant: int,
) -> None:
    _due[:] = (y,)
    _deliver(_kernels.fuse_scale_shift_kernel(x, scale, shift, scale_constant), y)


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
    _due[:] = (gate_out, out)
    made = _kernels.fuse_layernorm_scale_shift_gate_select01_kernel(
        x, weight, bias, scale0, shift0, gate0, scale1, shift1, gate1, index, eps
    )
    _deliver(made[0], out)
    _deliver(made[1], gate_out)


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
    _due[:] = (gate_out, residual_out, out)
    made = _kernels.fuse_residual_layernorm_scale_shift_gate_select01_kernel(
        x,
        residual,
        residual_gate,
        weight,
        bias,
        scale0,
        shift0,
        gate0,
        scale1,
        shift1,
        gate1,
        index,
        eps,
    )
    _deliver(made[0], out)
    _deliver(made[1], residual_out)
    _deliver(made[2], gate_out)
