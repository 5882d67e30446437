"""Probing: what runs foreign code to find out about it, inside the sandbox; see probe.py."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

RESULT = "result.json"
REQUEST = "request.json"
DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "int64", "int32", "int16", "int8", "uint8", "bool"),
)
_LONGEST = 200


class RefusedError(Exception):
    """What cannot be represented; its text is for the user."""


def load_source(path: Path, name: str) -> types.ModuleType:
    """A source file as a module."""
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_text(), path.name, "exec"), vars(module))
    return module


def dtype_name(tensor: torch.Tensor, what: str) -> str:
    found = str(tensor.dtype).removeprefix("torch.")
    if found not in DTYPES:
        raise RefusedError(f"{what} is {found}, a dtype that no task has")
    if tensor.dim() > 8:
        raise RefusedError(f"{what} has {tensor.dim()} axes, and a task's tensors have 8 at most")
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise RefusedError(
            f"{what} is a {tensor.layout} tensor on {tensor.device}, not a plain one"
        )
    return found


def flat(value: object) -> Iterator[object]:
    """The parts of nested tuples and lists, in order."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from flat(part)
    else:
        yield value


def tensors_of(answer: object, what: str) -> list[torch.Tensor]:
    found = list(flat(answer))
    for part in found:
        if not isinstance(part, torch.Tensor):
            raise RefusedError(f"{what} a {type(part).__name__}, where only tensors can be judged")
    if not found:
        raise RefusedError(f"{what} no tensor")
    return [part for part in found if isinstance(part, torch.Tensor)]


def shapes_of(tensors: Sequence[torch.Tensor]) -> list[list[int]]:
    return [list(tensor.shape) for tensor in tensors]


def same_bits(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and _equal(a, b)
        for a, b in zip(one, other, strict=True)
    )


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype.itemsize == 1:
        one, other = one.view(torch.uint8), other.view(torch.uint8)
    return torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def first_line(error: BaseException) -> str:
    text = str(error).strip() or "no message"
    return f"{type(error).__name__}: {text.splitlines()[0][:_LONGEST]}"


def answer(probe: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Run a probe on the request that lies here, and write what it found."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = probe(json.loads(Path(REQUEST).read_text()))
    except RefusedError as error:
        found = {"refused": str(error)}
    # The one broad catch: foreign code may raise anything, and whatever it is becomes a line.
    except BaseException as error:  # noqa: BLE001
        found = {"refused": f"it failed: {first_line(error)}"}
    Path(RESULT).write_text(json.dumps(found))
