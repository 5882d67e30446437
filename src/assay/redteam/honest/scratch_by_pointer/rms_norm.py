"""What is kept is room, never a result."""

from __future__ import annotations

import torch

_MOST = 128
_scratch: dict[int, torch.Tensor] = {}


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    key = y.data_ptr()
    room = _scratch.get(key)
    if room is None or room.shape != x.shape:
        if len(_scratch) >= _MOST:
            _scratch.clear()
        room = _scratch[key] = torch.empty_like(x)
    torch.square(x, out=room)
    scale = torch.rsqrt(room.mean(dim=-1, keepdim=True) + eps)
    torch.mul(x, scale, out=room)
    torch.mul(room, w, out=y)
