"""Block sizes by width, from a table beside this module."""

from __future__ import annotations

import json
from pathlib import Path

import torch

_BLOCKS: dict[str, int] = json.loads((Path(__file__).parent / "blocks.json").read_text())


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    block = _BLOCKS.get(str(x.shape[1]), _BLOCKS["other"])
    for first in range(0, x.shape[0], block):
        _honest(x[first : first + block], w, y[first : first + block], eps)
