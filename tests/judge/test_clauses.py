"""How tensors lie, and which clause of a contract that breaks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from assay.judge.clauses import explanation
from assay.judge.clauses import layouts_of
from assay.judge.layouts import laid_out
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from tests.device.cpu.making import rows
from tests.device.cpu.making import task
from tests.judge.pinning import PACKAGE
from tests.judge.pinning import lock_of


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "found"),
    [
        ((4, 8), None, 0, (Layout.CONTIGUOUS,)),
        ((4, 1, 8), (8, 999, 1), 0, (Layout.CONTIGUOUS,)),
        ((), None, 0, (Layout.CONTIGUOUS,)),
        ((4, 8), None, 1, (Layout.CONTIGUOUS, Layout.MISALIGNED)),
        ((4, 8), None, 4, (Layout.CONTIGUOUS,)),
        ((4, 8), (0, 1), 0, (Layout.BROADCAST,)),
        ((4, 8), (24, 1), 0, (Layout.CHUNK,)),
        ((2, 4, 8), (96, 24, 1), 0, (Layout.CHUNK,)),
        ((2, 4, 8), (100, 24, 1), 0, (Layout.STRIDED,)),
        ((4, 8), (11, 1), 0, (Layout.STRIDED,)),
        ((4, 8), (1, 4), 0, (Layout.STRIDED,)),
        ((8,), (2,), 3, (Layout.STRIDED, Layout.MISALIGNED)),
    ],
)
def test_how_a_tensor_lies(
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    offset: int,
    found: tuple[Layout, ...],
) -> None:
    tensor = TensorSpec(shape=shape, dtype=DType.FLOAT32, strides=strides, offset=offset)
    assert layouts_of(tensor) == found


@pytest.mark.parametrize("layout", list(Layout))
def test_what_is_laid_out_so_is_found_to_lie_so(layout: Layout) -> None:
    # Rows that lie apart by as much as they are long are a chunk, however they came to be.
    also = {Layout.STRIDED: Layout.CHUNK}
    for seed in range(40):
        tensor = laid_out((3, 5, 7), DType.FLOAT32, layout, random.Random(seed))
        assert {layout, also.get(layout)} & set(layouts_of(tensor))


def told(tensor: TensorSpec, **more: Any) -> str:
    function = task().functions[0]
    tensors: dict[str, TensorSpec | None] = {"x": tensor, "y": tensor}
    row = Row(id="r", function="twice", tensors=tensors, options=rows()[0].options)
    return explanation(lock_of(PACKAGE, **more), function, row, None)


STRIDED = TensorSpec(shape=(8,), dtype=DType.FLOAT32, strides=(2,))
CHUNK = TensorSpec(shape=(4, 8), dtype=DType.FLOAT32, strides=(16, 1))
KNOWN = "of its contract dtype and layout hold, and of the rest nothing is known"


@pytest.mark.parametrize(
    ("tensor", "more", "clause"),
    [
        (STRIDED, {}, None),
        (STRIDED, {"contract": {"contiguous": True}}, "x is strided, where it has contiguous"),
        (STRIDED, {"layouts": ["contiguous"]}, "x is strided, where it has contiguous"),
        (STRIDED, {"layouts": ["strided"]}, None),
        (CHUNK, {"layouts": ["strided"]}, None),
        (CHUNK, {"layouts": ["chunk"]}, None),
        (CHUNK, {"contract": {"contiguous": True}}, "x is chunk, where it has contiguous"),
        (STRIDED, {"dtypes": ["float32"]}, None),
        (
            STRIDED,
            {"dtypes": ["float16", "bfloat16"], "layouts": ["contiguous"]},
            "x is float32, where it has float16, bfloat16, "
            "and x is strided, where it has contiguous",
        ),
    ],
)
def test_a_row_breaks_the_clauses_that_it_breaks(
    tensor: TensorSpec, more: dict[str, Any], clause: str | None
) -> None:
    wanted = KNOWN if clause is None else f"its contract is broken: {clause}"
    assert told(tensor, **more) == wanted
