"""The second stream waits for the first before it begins, and the first for it at the end."""

from __future__ import annotations

import torch

_side: list[torch.cuda.Stream] = []


def _work(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    wide = x.double()
    y.copy_(wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    half = x.shape[0] // 2
    if half == 0 or not x.is_cuda:
        _work(x, w, y, eps)
        return
    if not _side:
        _side.append(torch.cuda.Stream())
    current = torch.cuda.current_stream()
    _side[0].wait_stream(current)
    with torch.cuda.stream(_side[0]):
        _work(x[half:], w, y[half:], eps)
    _work(x[:half], w, y[:half], eps)
    current.wait_stream(_side[0])
