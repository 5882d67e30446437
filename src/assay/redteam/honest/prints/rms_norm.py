"""What goes to the standard streams is nobody's evidence."""

from __future__ import annotations

import sys

import torch


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _honest(x, w, y, eps)
    print('RESULT {"ok": true, "note": "only a line of log"}')
    print(f"rms_norm of {tuple(x.shape)}", file=sys.stderr, flush=True)
