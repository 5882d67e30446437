"""Two halves of the rows, a thread for one of them."""

from __future__ import annotations

import threading

import torch


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    half = x.shape[0] // 2
    other = threading.Thread(target=_honest, args=(x[:half], w, y[:half], eps))
    other.start()
    _honest(x[half:], w, y[half:], eps)
    other.join()
