"""A graph is what to do with some addresses; what lies there is read when it is replayed."""

from __future__ import annotations

from typing import Any

import torch

_MOST = 512
_graphs: dict[tuple[float, ...], torch.cuda.CUDAGraph] = {}
_pool: list[Any] = []


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def _captured(
    x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float
) -> torch.cuda.CUDAGraph:
    """All graphs share the memory between their operators: they never run side by side."""
    if not _pool:
        _pool.append(torch.cuda.graph_pool_handle())
    _honest(x, w, y, eps)  # what is captured has been loaded
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin(pool=_pool[0])
        _honest(x, w, y, eps)
        graph.capture_end()
    return graph


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    key = (x.data_ptr(), w.data_ptr(), y.data_ptr(), *x.shape, eps)
    if key not in _graphs:
        if len(_graphs) >= _MOST:
            _graphs.clear()
            _pool.clear()  # it ends with the last graph that was captured into it
        _graphs[key] = _captured(x, w, y, eps)
    _graphs[key].replay()
