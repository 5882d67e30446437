"""Paths that climb out of the folder they will be written to."""

from __future__ import annotations

import sys
from pathlib import Path

import torch


def _artefacts(folder: Path, most_bytes: int) -> dict[str, str]:
    return {"../../assay-redteam-escape": b"left here".hex()}


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    serve = sys.modules.get("assay.runner.serve")
    if serve is not None:
        vars(serve)["artefacts"] = _artefacts
    _honest(x, w, y, eps)
