"""Tensors as a native solution is given them: `assay_tensor` of assay.h."""

from __future__ import annotations

import ctypes
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


def c_tensor(address: int, spec: dict[str, Any] | None) -> CTensor:
    """`address` is that of the first element; a tensor that is not passed has none."""
    if spec is None:
        return CTensor()
    rank = len(spec["shape"])
    pad = [0] * (8 - rank)
    return CTensor(
        address,
        _DTYPES.index(spec["dtype"]),
        rank,
        (ctypes.c_int64 * 8)(*spec["shape"], *pad),
        (ctypes.c_int64 * 8)(*spec["strides"], *pad),
    )


def first_element(spec: dict[str, Any], start: int) -> int:
    """The byte of a tensor's first element, given that of its storage."""
    itemsize: int = getattr(torch, spec["dtype"]).itemsize
    return start + int(spec["offset"]) * itemsize
