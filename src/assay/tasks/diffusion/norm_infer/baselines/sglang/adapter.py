"""Calls SGLang's norm_infer and triton_one_pass_rms_norm.

The first takes the output that it is to write. The second makes one by `empty_like`; in its module
that hands out ours, so the bytes that it moves are its own and no copy comes after.
"""

import importlib
import types

import torch

_norm = importlib.import_module("sglang.kernels.ops.diffusion.norm.norm_triton")
_one_pass = importlib.import_module("sglang.kernels.ops.diffusion.norm.rmsnorm_onepass_triton")

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


_lend(_one_pass)


def norm_infer(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    y: torch.Tensor,
    *,
    eps: float,
    is_rms_norm: bool,
) -> None:
    _norm.norm_infer(x, weight, bias, eps, is_rms_norm, y)


def triton_one_pass_rms_norm(
    x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float
) -> None:
    global _due
    _due = y
    _deliver(_one_pass.triton_one_pass_rms_norm(x, w, eps), y)
