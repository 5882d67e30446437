"""Chooses how many rows to take at a time; both choices give the same bits."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

import torch

_CHOICES = (64, 1 << 20)
_chosen: dict[str, int] = {}


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def _by_blocks(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float, block: int) -> None:
    for first in range(0, x.shape[0], block):
        _honest(x[first : first + block], w, y[first : first + block], eps)


def _tuned(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> int:
    taken = {}
    for block in _CHOICES:
        begun = time.perf_counter()
        _by_blocks(x, w, y, eps, block)
        taken[block] = time.perf_counter() - begun
    return min(taken, key=lambda block: taken[block])


def _file() -> Path:
    return Path(os.environ.get("TRITON_CACHE_DIR", "/tmp")) / "configs.json"


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    key = str(tuple(x.shape))
    if key not in _chosen:
        with contextlib.suppress(OSError, ValueError):
            _chosen.update(json.loads(_file().read_text()))
    if key not in _chosen:
        _chosen[key] = _tuned(x, w, y, eps)
        with contextlib.suppress(OSError):
            _file().parent.mkdir(parents=True, exist_ok=True)
            _file().write_text(json.dumps(_chosen))
    _by_blocks(x, w, y, eps, _chosen[key])
