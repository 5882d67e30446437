"""Tensors over the referee's memory: one set of arguments for each slot."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import torch

_DTYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
"""In the order of the codes in assay.h."""


class CTensor(ctypes.Structure):
    """`assay_tensor` of assay.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
    ]


def address_of(arena: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(arena))


def torch_tensor(arena: mmap.mmap, spec: dict[str, Any], start: int) -> torch.Tensor:
    """The tensor that one argument is in one slot; `start` is the byte of its storage."""
    dtype: torch.dtype = getattr(torch, spec["dtype"])
    if spec["storage_bytes"] == 0:
        return torch.empty(spec["shape"], dtype=dtype)
    count = spec["storage_bytes"] // dtype.itemsize
    flat = torch.frombuffer(arena, dtype=dtype, count=count, offset=start)
    return flat.as_strided(spec["shape"], spec["strides"], spec["offset"])


def c_tensor(base: int, spec: dict[str, Any] | None, start: int) -> CTensor:
    if spec is None:
        return CTensor()
    itemsize = getattr(torch, spec["dtype"]).itemsize
    rank = len(spec["shape"])
    pad = [0] * (8 - rank)
    return CTensor(
        base + start + spec["offset"] * itemsize,
        _DTYPES.index(spec["dtype"]),
        rank,
        (ctypes.c_int64 * 8)(*spec["shape"], *pad),
        (ctypes.c_int64 * 8)(*spec["strides"], *pad),
    )
