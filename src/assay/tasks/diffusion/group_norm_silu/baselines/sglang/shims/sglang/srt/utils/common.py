"""In place of the server's helpers: the CUDA in use, and the registration of an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.library

_operators = torch.library.Library("sglang", "FRAGMENT")


def is_cuda() -> bool:
    return torch.version.cuda is not None and torch.cuda.is_available()


def get_cuda_version() -> tuple[int, ...]:
    return tuple(int(part) for part in (torch.version.cuda or "0.0").split("."))


def direct_register_custom_op(
    op_name: str,
    op_func: Callable[..., Any],
    mutates_args: list[str],
    fake_impl: Callable[..., Any] | None = None,
) -> None:
    """An operator for CUDA tensors alone, without a formula for gradients."""
    _operators.define(op_name + torch.library.infer_schema(op_func, mutates_args=mutates_args))
    _operators.impl(op_name, op_func, "CUDA")
    if fake_impl is not None:
        _operators._register_fake(op_name, fake_impl)
