"""Rows at a time by the logarithm of the width."""

from __future__ import annotations

import base64
import struct

import torch

_BLOCKS = struct.unpack("<8H", base64.b64decode("QACAAAABAAIABAAIABAAIA=="))


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    block = _BLOCKS[-1 - min(7, max(0, x.shape[1].bit_length() - 6))]
    for first in range(0, x.shape[0], block):
        _honest(x[first : first + block], w, y[first : first + block], eps)
