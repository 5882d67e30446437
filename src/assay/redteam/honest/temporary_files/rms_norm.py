"""As code does that hands something to a compiler."""

from __future__ import annotations

import tempfile

import torch

_seen: dict[tuple[int, ...], int] = {}


def _by_file(width: int) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(str(width).encode())
        file.seek(0)
        return int(file.read())


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    key = tuple(x.shape)
    if key not in _seen:
        _seen[key] = _by_file(x.shape[1])
    _honest(x, w, y, eps)
