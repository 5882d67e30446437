"""Somebody else's norm."""

import torch
import torch.nn.functional as functional


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    y.copy_(functional.rms_norm(x, (x.shape[-1],), w, eps))
