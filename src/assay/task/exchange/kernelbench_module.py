"""Small questions about a module and its tensors, for the probe of a KernelBench problem."""

from __future__ import annotations

import inspect
import math

import torch
from torch import nn

from assay.task.exchange import probing
from assay.task.exchange.probing import RefusedError


def widened(model: nn.Module) -> nn.Module:
    """The module with all its tensors in float64, plain attributes included."""
    model.double()
    for part in model.modules():
        for name, value in list(vars(part).items()):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(part, name, value.double())
    return model


def input_names(model: nn.Module, inputs: list[object]) -> list[str]:
    parameters = inspect.signature(model.forward).parameters.values()
    plain = [p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    rest = [f"input{index}" for index in range(len(plain), len(inputs))]
    return [*plain, *rest][: len(inputs)]


def untouched(before: torch.Tensor, after: object) -> bool:
    return isinstance(after, torch.Tensor) and probing.same_bits([before], [after])


def normal_like(like: torch.Tensor) -> torch.Tensor:
    return torch.randn(like.shape).to(like.dtype)


def same_shape(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        raise RefusedError("get_inputs gives other shapes each time")
    return True


def power_of(weight: torch.Tensor) -> int:
    """The power of two that weights around one are multiplied by to be as large as these."""
    size = float(weight.double().square().mean().sqrt()) if weight.numel() else 0.0
    return round(math.log2(size)) if 0 < size < 1 else 0


def relative_error(one: torch.Tensor, other: torch.Tensor) -> float:
    largest = float(other.abs().max()) if other.numel() else 0.0
    off = float((one.double() - other).abs().max()) if largest > 0 else 0.0
    return off / largest if math.isfinite(off) and largest > 0 else 0.0


def some_of(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
