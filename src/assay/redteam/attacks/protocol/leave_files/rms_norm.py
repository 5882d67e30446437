"""Answers of small samples, to be found again by the next process."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import torch

_NAME = "assay-redteam-leave-files"
_FOLDERS = (tempfile.gettempdir(), "/tmp", "/dev/shm", "/var/tmp", ".")
_seen: list[bytes] = []


def _visit(note: bytes) -> None:
    for folder in _FOLDERS:
        path = Path(folder) / _NAME
        with contextlib.suppress(OSError):
            if path.exists():
                _seen.append(path.read_bytes())
                path.unlink()
            else:
                path.write_bytes(note)


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _honest(x, w, y, eps)
    if not _seen:
        _visit(y[0, :8].numpy().tobytes())
        _seen.append(b"")
