"""Arguments of several shapes: which one a row has, and what a row may not have."""

from __future__ import annotations

from typing import Any

import pytest

from assay.spec.binding import lies_as
from assay.spec.binding import problems_of
from assay.spec.documents import parse_document
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.errors import DocumentError
from assay.spec.forms import in_form
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from tests.spec.examples import TASK
from tests.spec.test_documents import spoilt

WHOLE = ["B", "S", "D"]
FORMS = [["D"], ["B", "D"], [1, 1, "D"], ["B", "F", 1, "D"]]


def argument(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "input", "shape": [1], "forms": FORMS, "like": "x", **more}


ARGUMENTS = [
    {"name": "x", "role": "input", "shape": WHOLE, "dtypes": ["bfloat16", "float32"]},
    argument("scale", dtypes=["float32"], optional=True, layouts=["chunk"]),
    argument("shift", forms=[*FORMS[:-1], WHOLE], form_of="scale"),
    {"name": "w", "role": "input", "shape": ["D"], "like": "x", "optional": True},
    argument("gate", optional=True, passed_with="w", passed_if=["mode", "gated"]),
    {"name": "y", "role": "output", "shape": WHOLE, "like": "x"},
]


def document(**changes: Any) -> dict[str, Any]:
    base = spoilt(TASK, "functions.0.arguments", ARGUMENTS)
    modes = {"name": "mode", "choices": ["gated", "plain"]}
    base = spoilt(base, "functions.0.options", [modes])
    axes = {name: {"high": 4096} for name in "BSDF"}
    base = spoilt(base, "domain", {"axes": axes, "divides": [["F", "S"]]})
    for key, value in changes.items():
        base = spoilt(base, key.replace("__", "."), value)
    return base


MODULATION = parse_document(document(), Task, "task.toml")


def tensor(*shape: int, dtype: DType = DType.BFLOAT16, **more: Any) -> TensorSpec:
    return TensorSpec(shape=shape, dtype=dtype, **more)


def row(**tensors: TensorSpec | None) -> Row:
    whole = tensor(2, 12, 64)
    given = {"x": whole, "scale": tensor(1), "shift": tensor(1), "y": whole, **tensors}
    return Row(id="row", function="rms_norm", tensors=given, options={"mode": "gated"})


def problems(**tensors: TensorSpec | None) -> list[str]:
    return list(problems_of(MODULATION, row(**tensors)))


@pytest.mark.parametrize(
    ("scale", "shift"),
    [
        ((1,), (1,)),
        ((64,), (64,)),
        ((2, 64), (2, 64)),
        ((1, 1, 64), (1, 1, 64)),
        ((2, 3, 1, 64), (2, 12, 64)),
    ],
)
def test_each_form_is_a_call_of_the_task(scale: tuple[int, ...], shift: tuple[int, ...]) -> None:
    assert problems(scale=tensor(*scale), shift=tensor(*shift)) == []
    formed = in_form(MODULATION.functions[0], row(scale=tensor(*scale), shift=tensor(*shift)))
    shapes = {a.name: a.shape for a in formed.arguments}
    values = {"B": 2, "S": 12, "D": 64, "F": 3}
    assert tuple(values.get(str(axis), axis) for axis in shapes["scale"]) == scale
    assert tuple(values.get(str(axis), axis) for axis in shapes["shift"]) == shift


def test_a_shape_that_is_no_form_is_named() -> None:
    assert problems(scale=tensor(32), shift=tensor(32)) == [
        "scale is [32], which is none of its forms",
        "shift is [32], which is none of its forms",
    ]


def test_a_follower_has_the_form_of_its_own_that_the_chooser_chose() -> None:
    # Both shapes are forms, but not of one number.
    assert problems(scale=tensor(64), shift=tensor(2, 64)) == [
        "scale is [64], which is none of its forms",
        "shift is [2, 64], which is none of its forms",
    ]
    assert problems(scale=None, shift=tensor(2, 64)) == []
    assert problems(scale=tensor(64), shift=tensor(64), gate=tensor(2, 64), w=tensor(64)) == []


def test_an_axis_that_only_a_form_has_is_held_against_the_rest() -> None:
    assert problems(scale=tensor(2, 5, 1, 64), shift=tensor(2, 12, 64)) == [
        "F=5 does not divide S=12"
    ]


def test_an_output_may_have_the_form_that_an_input_chose() -> None:
    halves = {"name": "y", "role": "output", "shape": [2], "like": "x", "form_of": "scale"}
    halves["forms"] = [["D", 2], ["B", "D"], [1, 2, "D"], WHOLE]
    task = parse_document(document(functions__0__arguments__5=halves), Task, "task.toml")
    for scale, y, fits in [((1,), (2,), True), ((64,), (64, 2), True), ((64,), (2,), False)]:
        given = row(scale=tensor(*scale), shift=tensor(*scale), y=tensor(*y))
        assert (list(problems_of(task, given)) == []) is fits


def test_one_axis_has_one_extent_in_all_forms() -> None:
    three, four = tensor(2, 3, 1, 64), tensor(2, 4, 1, 64)
    whole = tensor(2, 12, 64)
    assert problems(scale=three, shift=whole, gate=three, w=tensor(64)) == []
    assert problems(scale=three, shift=whole, gate=four, w=tensor(64)) == [
        "gate is [2, 4, 1, 64], which is none of its forms"
    ]


def test_a_dtype_may_be_that_of_another_or_one_of_a_list() -> None:
    assert problems(scale=tensor(1, dtype=DType.FLOAT32)) == []
    assert problems(scale=tensor(1, dtype=DType.FLOAT16)) == ["scale is float16 but x is bfloat16"]
    assert problems(shift=tensor(1, dtype=DType.FLOAT32)) == ["shift is float32 but x is bfloat16"]


def test_an_optional_comes_with_its_company_or_not_at_all() -> None:
    told = "gate and w are passed together or not at all"
    assert problems(gate=tensor(1), w=tensor(64)) == []
    assert problems(gate=tensor(1)) == [told]
    assert problems(w=tensor(64)) == [told]


def test_an_optional_that_hangs_on_an_option_is_passed_only_then() -> None:
    plain = row(w=tensor(64)).model_copy(update={"options": {"mode": "plain"}})
    assert list(problems_of(MODULATION, plain)) == []
    both = row(w=tensor(64), gate=tensor(1)).model_copy(update={"options": {"mode": "plain"}})
    assert list(problems_of(MODULATION, both)) == ["gate is only passed if mode=gated"]


def test_an_argument_may_have_layouts_that_the_domain_does_not_list() -> None:
    chunk = tensor(2, 64, strides=(384, 1))
    assert problems(scale=chunk, shift=tensor(2, 64)) == []
    assert problems(scale=tensor(2, 64), shift=chunk) == [
        "shift is strided, a layout that the domain does not list"
    ]
    padded = tensor(2, 64, strides=(65, 1))
    assert problems(scale=padded, shift=tensor(2, 64)) == [
        "scale is strided, a layout that scale does not list"
    ]


@pytest.mark.parametrize(
    ("shape", "strides", "is_chunk"),
    [
        ((4, 8), (48, 1), True),
        ((3, 4, 8), (192, 48, 1), True),
        ((1, 4, 8), (999, 48, 1), True),
        ((3, 4, 8), (192, 24, 1), False),
        ((4, 8), (12, 1), False),
        ((4, 8), (16, 2), False),
        ((4, 8), (1, 4), False),
        ((4, 8), (0, 1), False),
    ],
)
def test_a_chunk_is_rows_that_lie_whole_rows_apart(
    shape: tuple[int, ...], strides: tuple[int, ...], is_chunk: bool
) -> None:
    spec = tensor(*shape, strides=strides)
    assert lies_as(spec, (Layout.CHUNK,)) is is_chunk
    assert lies_as(spec, (Layout.STRIDED,)) is (strides[0] != 0)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("2.form_of", "x", "shift and x differ in how many forms they have"),
        ("2.form_of", "nobody", "shift has the form of nobody, which does not choose one"),
        ("4.form_of", "shift", "gate has the form of shift, which does not choose one"),
        ("3.form_of", "scale", "argument w has the form of scale, but no forms"),
        ("2.forms", [["D"]], "shift and scale differ in how many forms they have"),
        ("1.forms", [["*D", "*B"]], "argument scale has more than one * axis"),
        ("1.forms", [["Z"]], "argument scale: axis Z is not in the domain"),
        ("5.forms", [["D"]], "argument y: only inputs choose their form"),
        ("2.passed_with", "w", "argument shift is passed at times, but is not optional"),
        ("4.passed_if", ["mode", "other"], "gate is passed if mode is other, which never is"),
        ("4.passed_if", ["eps", "gated"], "gate is passed if eps is gated, which never is"),
        ("4.passed_with", "x", "gate is passed with x, which is no optional argument"),
        ("3.passed_with", "gate", "w is passed with gate, which is no optional argument"),
    ],
)
def test_each_mistake_in_the_rules_is_told(key: str, value: Any, message: str) -> None:
    changes: dict[str, Any] = {f"functions__0__arguments__{key.replace('.', '__')}": value}
    if key == "1.forms" and "Z" in str(value):
        changes["functions__0__arguments__2__forms"] = [["D"]]
    with pytest.raises(DocumentError) as caught:
        parse_document(document(**changes), Task, "task.toml")
    assert message in str(caught.value)


def test_the_keys_are_left_out_of_a_content_that_does_not_use_them() -> None:
    first, scale = MODULATION.content()["functions"][0]["arguments"][:2]
    assert sorted(first) == [
        "constant",
        "dtypes",
        "integers",
        "like",
        "name",
        "optional",
        "role",
        "shape",
    ]
    assert sorted(set(scale) - set(first)) == ["forms", "layouts"]
    again = parse_document(MODULATION.content(), Task, "task.toml")
    assert again == MODULATION
    assert again.content_hash == MODULATION.content_hash


def test_the_hash_of_a_task_without_forms_is_what_it_was_before_there_were_any() -> None:
    example = parse_document(TASK, Task, "task.toml")
    assert example.content_hash == (
        "02561f7f5e1a08684d7d6572df2e046910171cc0d1237836d756a145b5e68850"
    )
