"""A counter that is dropped at the end of the process."""

from __future__ import annotations

import atexit
import weakref

import torch


class _Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __del__(self) -> None:
        self.calls = 0


_counter = _Counter()
weakref.finalize(_counter, int)
atexit.register(int)


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _counter.calls += 1
    _honest(x, w, y, eps)
