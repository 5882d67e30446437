from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.task import Role
from assay.task.shapes import OptionValue
from assay.task.shapes import Shape
from assay.task.shapes import parse_option
from assay.task.shapes import parse_shape

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
ROWS = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,20}", fullmatch=True)
KINDS = st.sampled_from(
    [(Role.INPUT, False), (Role.INPUT, True), (Role.OUTPUT, False), (Role.INOUT, False)]
)
EXTENTS = st.lists(st.integers(0, 10**12 - 1), max_size=8)

Parsed = TypeVar("Parsed")


def outcome(parse: Callable[[str], Parsed], text: str) -> tuple[Parsed | None, str]:
    """What was read, or the line that says why nothing was."""
    try:
        return parse(text), ""
    except UsageError as error:
        return None, str(error)


@given(ROWS, NAMES, EXTENTS, st.sampled_from(DType), KINDS)
def test_what_a_shape_prints_is_read_back_as_itself(
    row: str | None, name: str, extents: list[int], dtype: DType, kind: tuple[Role, bool]
) -> None:
    shape = Shape(row, name, tuple(extents), dtype, *kind)
    assert parse_shape(str(shape)) == shape


@given(st.text(max_size=60) | st.text("xyz=/:0123456789float32out.", max_size=40))
def test_any_text_is_a_shape_or_one_line(text: str) -> None:
    shape, line = outcome(parse_shape, text)
    assert (shape is None) == line.startswith("--shape ")
    assert "\n" not in line
    assert shape is None or parse_shape(str(shape)) == shape


@given(ROWS, NAMES, st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False))
def test_an_option_keeps_its_type_and_every_digit(
    row: str | None, name: str, value: bool | int | float
) -> None:
    written = str(value).lower() if isinstance(value, bool) else repr(value)
    text = f"{row}/{name}={written}" if row else f"{name}={written}"
    if value in {float("inf"), float("-inf")}:
        with pytest.raises(UsageError):
            parse_option(text)
        return
    read = parse_option(text)
    assert read == OptionValue(row, name, value)
    assert type(read.value) is type(value)


@given(st.text(max_size=60) | st.text("ab=/.0123456789e+-", max_size=30))
def test_any_text_is_an_option_or_one_line(text: str) -> None:
    option, line = outcome(parse_option, text)
    assert (option is None) == line.startswith("--option ")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x=4096x128:float32", Shape(None, "x", (4096, 128), DType.FLOAT32)),
        ("y=4x0:bfloat16:out", Shape(None, "y", (4, 0), DType.BFLOAT16, Role.OUTPUT)),
        ("w=128:float32:constant", Shape(None, "w", (128,), DType.FLOAT32, Role.INPUT, True)),
        ("r2/q=scalar:int64:inout", Shape("r2", "q", (), DType.INT64, Role.INOUT)),
    ],
)
def test_the_examples_of_the_grammar(text: str, shape: Shape) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x=",
        "x=4",
        "x=4:float",
        "x=4:float32:in",
        "x=4:float32:out:constant",
        "x=4x:float32",
        "x=-4:float32",
        "x=4 :float32",
        " x=4:float32",
        "x=4:float32\n",
        "1x=4:float32",
        "a/b/x=4:float32",
        "x=1x1x1x1x1x1x1x1x1:float32",
        "x=٤:float32",
        "x=9999999999999:float32",
    ],
)
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_shape(text)


@pytest.mark.parametrize("text", ["", "a", "a=", "a=b", "a=nan", "a=1_0", "a=0x1", "a=True", "=1"])
def test_what_is_no_option(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_option(text)
