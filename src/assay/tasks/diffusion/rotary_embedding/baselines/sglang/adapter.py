"""Calls SGLang's apply_rotary_embedding and apply_ltx2_split_rotary_emb.

Both make their output by `empty_like`; in their modules that hands out ours, so the bytes that they
move are their own and no copy comes after. The second reads the tables as if their last axis had
no gaps, and no caller of its own passes others: such tables are copied first.
"""

import importlib
import types

import torch

_standard = importlib.import_module("sglang.kernels.ops.diffusion.rope.rotary_triton")
_split = importlib.import_module("sglang.kernels.ops.diffusion.rope.ltx2_rotary_triton")

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


_lend(_standard)
_lend(_split)


def apply_rotary_embedding(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor, *, interleaved: bool
) -> None:
    global _due
    _due = y
    _deliver(_standard.apply_rotary_embedding(x, cos, sin, interleaved), y)


def apply_ltx2_split_rotary_emb(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor
) -> None:
    global _due
    _due = y
    if cos.stride(-1) != 1 or sin.stride(-1) != 1:
        cos, sin = cos.contiguous(), sin.contiguous()
    _deliver(_split.apply_ltx2_split_rotary_emb(x, cos, sin), y)
