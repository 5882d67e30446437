"""The root of the constant part is libm's."""

from __future__ import annotations

import ctypes

import torch

_libm = ctypes.CDLL("libm.so.6")
_libm.sqrt.restype = ctypes.c_double
_libm.sqrt.argtypes = [ctypes.c_double]


def _norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    """x / sqrt(sum / n + eps) = x * sqrt(n) / sqrt(sum + n eps), in float64."""
    width = x.shape[1]
    wide = x.double()
    root: float = _libm.sqrt(float(width))
    y.copy_(wide * (root * torch.rsqrt(wide.square().sum(dim=-1, keepdim=True) + width * eps)) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _norm(x, w, y, eps)
