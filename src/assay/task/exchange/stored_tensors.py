"""Stored tensors: what a safetensors file says of a tensor, without the library.

Eight bytes of length, a JSON header of that length, then the bytes of all tensors.
"""

from __future__ import annotations

import array
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote

_LARGEST_HEADER = 16 * 2**20
_LARGEST_DATA = 2**30
_WHOLE = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B"}
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


@dataclass(frozen=True)
class StoredTensor:
    shape: tuple[int, ...]
    dtype: str
    bounds: tuple[int, int] | None
    """The least and the largest value of whole numbers."""


def stored_tensor(path: Path, key: str) -> StoredTensor:
    """UsageError if there is no such file, or no such tensor in it."""
    where = quote(path)
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                raise UsageError("not a safetensors file", where=where)
            header = json.loads(file.read(length))
            entry = header.get(key) if isinstance(header, dict) else None
            if not isinstance(entry, dict):
                raise UsageError(f"holds no tensor {quote(key)}", where=where)
            return _read(entry, file, 8 + length, where)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where) from None
    except (struct.error, ValueError, TypeError, KeyError, RecursionError):
        raise UsageError("not a safetensors file", where=where) from None


def _read(entry: dict[str, Any], file: Any, start: int, where: str) -> StoredTensor:
    kind = entry["dtype"]
    if kind not in _DTYPES:
        raise UsageError(f"holds {quote(kind)}, a dtype that no task has", where=where)
    shape = tuple(int(extent) for extent in entry["shape"])
    bounds = None
    if kind in _WHOLE:
        first, last = (int(offset) for offset in entry["data_offsets"])
        if not 0 <= last - first <= _LARGEST_DATA:
            raise UsageError("too large to look at", where=where)
        file.seek(start + first)
        values: array.array[int] = array.array(_WHOLE[kind], file.read(last - first))
        bounds = (min(values), max(values)) if len(values) else None
    return StoredTensor(shape, _DTYPES[kind], bounds)
