"""Views look at the memory as it is; they are made once and read anew."""

from __future__ import annotations

import torch

_MOST = 512
_views: dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    key = (x.data_ptr(), y.data_ptr(), w.data_ptr(), *x.shape)
    if key not in _views:
        if len(_views) >= _MOST:
            _views.clear()
        _views[key] = (x.view(x.shape), w.view(w.shape), y.view(y.shape))
    _honest(*_views[key], eps)
