"""The grammar of `--shape` and `--option`, with which loose files are called.

    --shape  [ROW/]NAME=EXTENTS:DTYPE[:out|:inout|:constant]
    --option [ROW/]NAME=VALUE

EXTENTS are whole numbers joined by `x`, or `scalar` for a tensor without axes. A tensor is an input
unless it says otherwise; `constant` is an input that is a weight. Without a row's name a tensor or
option belongs to the one row there is, and an option to every row. VALUE is `true`, `false` or a
number.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.task import Role

Number = bool | int | float

_SHAPE = re.compile(
    r"(?:(?P<row>[A-Za-z0-9][A-Za-z0-9_.-]*)/)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"=(?P<extents>scalar|[0-9]+(?:x[0-9]+)*):(?P<dtype>[a-z0-9_]+)(?::(?P<kind>[a-z]+))?",
    re.ASCII,
)
_OPTION = re.compile(
    r"(?:(?P<row>[A-Za-z0-9][A-Za-z0-9_.-]*)/)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>\S+)",
    re.ASCII,
)
_KINDS = {
    None: (Role.INPUT, False),
    "constant": (Role.INPUT, True),
    "out": (Role.OUTPUT, False),
    "inout": (Role.INOUT, False),
}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_MOST_AXES = 8
_LONGEST = 400


@dataclass(frozen=True)
class Shape:
    """One `--shape`: a tensor of one row."""

    row: str | None
    name: str
    shape: tuple[int, ...]
    dtype: DType
    role: Role = Role.INPUT
    constant: bool = False

    def __str__(self) -> str:
        kind = next(k for k, meant in _KINDS.items() if meant == (self.role, self.constant))
        row = f"{self.row}/" if self.row else ""
        extents = "x".join(map(str, self.shape)) or "scalar"
        return f"{row}{self.name}={extents}:{self.dtype}" + (f":{kind}" if kind else "")


@dataclass(frozen=True)
class OptionValue:
    """One `--option`: a scalar of one row, or of all."""

    row: str | None
    name: str
    value: Number


def parse_shape(text: str) -> Shape:
    """The tensor that one `--shape` describes.

    >>> parse_shape("x=4096x128:float32")
    Shape(row=None, name='x', shape=(4096, 128), dtype=<DType.FLOAT32: 'float32'>, \
role=<Role.INPUT: 'input'>, constant=False)
    """
    match = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _misuse("--shape", text, "x=4096x128:float32 or small/y=16x128:float32:out")
    if match["dtype"] not in set(DType):
        raise _misuse("--shape", text, f"dtypes are {', '.join(DType)}")
    if match["kind"] not in _KINDS:
        raise _misuse("--shape", text, "the last word is out, inout or constant")
    parts = () if match["extents"] == "scalar" else match["extents"].split("x")
    if len(parts) > _MOST_AXES or any(len(part) > 12 for part in parts):
        raise _misuse("--shape", text, f"at most {_MOST_AXES} axes of at most 2^40 elements")
    role, constant = _KINDS[match["kind"]]
    shape = tuple(map(int, parts))
    return Shape(match["row"], match["name"], shape, DType(match["dtype"]), role, constant)


def parse_option(text: str) -> OptionValue:
    """The scalar that one `--option` gives.

    >>> parse_option("eps=1e-6")
    OptionValue(row=None, name='eps', value=1e-06)
    """
    match = _OPTION.fullmatch(text) if len(text) <= _LONGEST else None
    value = None if match is None else _number(match["value"])
    if match is None or value is None:
        raise _misuse("--option", text, "eps=1e-6, groups=32 or small/exact=true")
    return OptionValue(match["row"], match["name"], value)


def _number(text: str) -> Number | None:
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return None


def _misuse(option: str, text: str, hint: str) -> UsageError:
    return UsageError("not understood", where=f"{option} {quote(text)}", next_step=hint)
