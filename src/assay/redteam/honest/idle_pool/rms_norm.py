"""Threads sleep on a queue between calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

_pool: list[ThreadPoolExecutor] = []


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    if not _pool:
        _pool.append(ThreadPoolExecutor(max_workers=2))
    half = x.shape[0] // 2
    parts = [_pool[0].submit(_honest, x[:half], w, y[:half], eps)]
    parts.append(_pool[0].submit(_honest, x[half:], w, y[half:], eps))
    for part in parts:
        part.result()
