"""In place of the compiler of CUDA sources: what is left out are kernels for Blackwell alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def cache_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def load_jit(name: str, **_: object) -> Any:
    raise RuntimeError(f"{name} is not part of this snapshot, which is for GPUs before Blackwell")
