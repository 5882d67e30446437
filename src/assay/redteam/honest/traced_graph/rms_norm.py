"""torch.fx records the operations, not the numbers."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

_graphs: list[Any] = []


def _formula(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * w


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    if not _graphs:
        _graphs.append(torch.fx.symbolic_trace(_formula))
    y.copy_(_graphs[0](x, w, eps))
