from __future__ import annotations

from typing import Any

import pytest

from assay.spec.binding import check_rows
from assay.spec.binding import layout_of
from assay.spec.binding import problems_of
from assay.spec.documents import parse_document
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.errors import DocumentError
from assay.spec.task import Task
from assay.spec.workload import TensorSpec
from assay.spec.workload import Workloads
from tests.spec.examples import TASK
from tests.spec.examples import WORKLOADS
from tests.spec.test_documents import spoilt

TASK_NOUN = parse_document(TASK, Task, "task.toml")


def problems(**changes: Any) -> list[str]:
    document = WORKLOADS
    for key, value in changes.items():
        document = spoilt(document, "rows.0." + key.replace("__", "."), value)
    row = parse_document(document, Workloads, "workloads.json").rows[0]
    return list(problems_of(TASK_NOUN, row))


def tensor(*shape: int, dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, **more}


def test_the_example_row_is_a_call_of_its_task() -> None:
    assert problems() == []


def test_a_star_axis_stands_for_as_many_axes_as_the_domain_allows() -> None:
    assert problems(tensors__x=tensor(2, 3, 4, 8), tensors__y=tensor(2, 3, 4, 8)) == []
    assert problems(tensors__x=tensor(1, 2, 3, 4, 8), tensors__y=tensor(1, 2, 3, 4, 8)) == [
        "x has 4 axes for *batch",
        "y has 4 axes for *batch",
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"function": "layer_norm"}, "layer_norm is no function of this task"),
        ({"tensors__z": tensor(8)}, "z is no argument of rms_norm"),
        ({"tensors__x": None}, "argument x is missing"),
        ({"options": {}}, "option eps is missing"),
        ({"options": {"eps": 0.5}}, "option eps=0.5 is outside its range"),
        ({"options": {"eps": True}}, "option eps=True is outside its range"),
        ({"options": {"eps": 1e-6, "beta": 1}}, "beta is no option of rms_norm"),
        ({"tensors__w": tensor(128, dtype="bfloat16")}, "w is bfloat16 but x is float32"),
        ({"tensors__w": tensor(64)}, "w has width=[64] where another argument has [128]"),
        ({"tensors__w": tensor(4, 128)}, "w has 2 axes"),
        (
            {"tensors__x": tensor(4096, 128, strides=[0, 1])},
            "x is broadcast, a layout that the domain does not list",
        ),
    ],
)
def test_each_way_out_of_the_domain_is_named(changes: dict[str, Any], problem: str) -> None:
    assert problem in problems(**changes)


def test_extents_are_held_against_range_and_multiple() -> None:
    odd = problems(tensors__x=tensor(1, 129), tensors__y=tensor(1, 129))
    assert odd == ["x has width=129, outside the domain", "y has width=129, outside the domain"]


def test_a_dtype_that_the_task_does_not_list_is_named() -> None:
    half = problems(
        tensors__x=tensor(4096, 128, dtype="float16"), tensors__y=tensor(4096, 128, dtype="float16")
    )
    assert half == ["x is float16, which the task does not list"]


def test_a_divisor_may_be_an_option_and_must_divide() -> None:
    document = spoilt(TASK, "domain.divides", [["groups", "width"]])
    document = spoilt(document, "functions.0.options", [{"name": "groups", "choices": [1, 3, 0]}])
    task = parse_document(document, Task, "task.toml")
    for groups, expected in [
        (1, []),
        (3, ["groups=3 does not divide width=128"]),
        (0, ["groups=0 does not divide width=128"]),
    ]:
        rows = spoilt(WORKLOADS, "rows.0.options", {"groups": groups})
        row = parse_document(rows, Workloads, "w").rows[0]
        assert list(problems_of(task, row)) == expected


def test_the_first_bad_row_is_named_with_file_and_key() -> None:
    rows = parse_document(spoilt(WORKLOADS, "rows.0.options", {}), Workloads, "workloads.json")
    with pytest.raises(DocumentError) as caught:
        check_rows(TASK_NOUN, rows, "workloads.json")
    assert str(caught.value) == (
        "workloads.json: key rows.0: row m4096_d128: option eps is missing "
        "(mend the row, or widen the domain in task.toml)"
    )


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "layout"),
    [
        ((4, 8), None, 0, Layout.CONTIGUOUS),
        ((4, 8), (8, 1), 0, Layout.CONTIGUOUS),
        ((1, 8), (999, 1), 0, Layout.CONTIGUOUS),
        ((4, 8), (16, 1), 0, Layout.STRIDED),
        ((4, 8), (1, 4), 0, Layout.STRIDED),
        ((4, 8), (0, 1), 0, Layout.BROADCAST),
        ((4, 8), None, 1, Layout.MISALIGNED),
        ((0, 8), None, 0, Layout.CONTIGUOUS),
    ],
)
def test_a_layout_is_told_from_strides_and_offset(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int, layout: Layout
) -> None:
    spec = TensorSpec(shape=shape, dtype=DType.FLOAT32, strides=strides, offset=offset)
    assert layout_of(spec) is layout


def test_storage_reaches_to_the_last_element_touched() -> None:
    spec = TensorSpec(shape=(3, 4), dtype=DType.BFLOAT16, strides=(10, 2), offset=5)
    # 5 + 2*10 + 3*2 + 1
    assert spec.storage_elements == 32
    assert (spec.elements, spec.bytes) == (12, 24)
    empty = TensorSpec(shape=(0, 4), dtype=DType.FLOAT32, offset=2)
    assert empty.storage_elements == 2
