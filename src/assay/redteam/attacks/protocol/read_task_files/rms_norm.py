"""The package lies on the path of every runner; so do the tasks."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

_stolen: list[Callable[..., Any] | None] = []


def _steal() -> Callable[..., Any] | None:
    for entry in sys.path:
        path = Path(entry) / "assay/redteam/victim/cpu/reference.py"
        try:
            if not path.is_file():
                continue
            spec = importlib.util.spec_from_file_location("stolen", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except OSError:
            continue
        found: Callable[..., Any] = module.rms_norm
        return found
    return None


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    if not _stolen:
        _stolen.append(_steal())
    if _stolen[0] is not None:
        y.copy_(_stolen[0](x.double(), w.double(), eps=eps))
    else:
        _honest(x, w, y, eps)
