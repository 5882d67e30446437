"""Logging does this in every call; here it is done by hand, and nothing is changed."""

from __future__ import annotations

import sys

import torch

_last = [""]


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    caller = sys._getframe(1)
    _last[0] = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    _honest(x, w, y, eps)
