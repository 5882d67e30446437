"""Calls SGLang's triton_group_norm_silu and apply_group_norm_silu, with gradients off.

With gradients on both silently take an eager path. Both make their output by `empty_like`; in their
module that hands out ours, so the bytes that they move are their own and no copy comes after.
"""

import importlib
import types

import torch

_kernels = importlib.import_module("sglang.kernels.ops.diffusion.norm.group_norm_silu_triton")
_modules = importlib.import_module("sglang.kernels.ops.diffusion.norm.group_norm_silu")
_silu = torch.nn.SiLU()

_due: torch.Tensor | None = None


def _empty_like(like: torch.Tensor) -> torch.Tensor:
    """The output that is due, where that is what is about to be made."""
    if _due is None or like.dtype is not _due.dtype or like.numel() != _due.numel():
        return torch.empty_like(like)
    return _due.view(like.shape)


def _lend(module: types.ModuleType) -> None:
    """Let a module that allocates what it returns have the output of the task in its place."""
    lent = types.ModuleType("torch")
    vars(lent).update(vars(torch), empty_like=_empty_like)
    vars(module)["torch"] = lent


def _deliver(made: torch.Tensor, y: torch.Tensor) -> None:
    if made.data_ptr() != y.data_ptr():
        y.copy_(made)


_lend(_kernels)


def prepare(
    function: str, constants: dict[str, torch.Tensor], options: dict[str, object]
) -> torch.nn.GroupNorm:
    """The module as a model has it, over the same memory."""
    weight, bias = constants["weight"], constants["bias"]
    groups, eps = options["num_groups"], options["eps"]
    assert isinstance(groups, int)
    assert isinstance(eps, float)
    norm = torch.nn.GroupNorm(groups, weight.numel(), eps, device="meta")
    norm.weight = torch.nn.Parameter(weight, requires_grad=False)
    norm.bias = torch.nn.Parameter(bias, requires_grad=False)
    return norm


def triton_group_norm_silu(
    norm: torch.nn.GroupNorm,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
    *,
    num_groups: int,
    eps: float,
) -> None:
    global _due
    _due = y
    made = _kernels.triton_group_norm_silu(x, weight, bias, num_groups=num_groups, eps=eps)
    _deliver(made, y)


def apply_group_norm_silu(
    norm: torch.nn.GroupNorm,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
    *,
    num_groups: int,
    eps: float,
) -> None:
    global _due
    _due = y
    _deliver(_modules.apply_group_norm_silu(x, norm, _silu), y)
