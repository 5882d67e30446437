from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from assay.judge.dealer import Dealer
from assay.judge.extents import _multiple
from assay.judge.hidden import draw_rows
from assay.judge.layouts import laid_out
from assay.spec.binding import layout_of
from assay.spec.binding import problems_of
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.task import Task
from assay.spec.workload import Row
from tests.judge.small_tasks import LAYER_NORM_TASK
from tests.judge.small_tasks import RMS_NORM_TASK
from tests.judge.small_tasks import task_of


def group_norm_task(**domain: Any) -> Task:
    axes = {"n": {"high": 4}, "c": {"high": 2048}, "space": {"low": 1, "high": 512}}
    whole: dict[str, Any] = {"axes": axes, "divides": [["groups", "c"]], "rank": [1, 3]}
    return task_of(
        "group_norm",
        [
            {
                "name": "x",
                "role": "inout",
                "shape": ["n", "c", "*space"],
                "dtypes": ["float16", "float32"],
            },
            {"name": "w", "role": "input", "shape": ["c"], "like": "x", "optional": True},
            {"name": "b", "role": "input", "shape": ["c"], "like": "w", "optional": True},
            {"name": "table", "role": "input", "shape": [3, "n"], "dtypes": ["int32"]},
        ],
        [{"name": "groups", "low": 1, "high": 32}, {"name": "eps", "low": 1e-6, "high": 1e-4}],
        **{**whole, **domain},
    )


def heads_task() -> Task:
    return task_of(
        "heads",
        [
            {"name": "q", "role": "input", "shape": ["q_heads", "width"], "dtypes": ["bfloat16"]},
            {"name": "k", "role": "input", "shape": ["kv_heads", "width"], "like": "q"},
            {"name": "y", "role": "output", "shape": ["q_heads", "width"], "like": "q"},
        ],
        [{"name": "mode", "choices": ["neox", "plain"]}, {"name": "shift", "low": -1, "high": 1}],
        axes={
            "q_heads": {"low": 1, "high": 64},
            "kv_heads": {"low": 1, "high": 16},
            "width": {"high": 256, "choices": [64, 128, 256]},
        },
        divides=[["kv_heads", "q_heads"]],
        layouts=["strided", "broadcast"],
    )


def modulation_task() -> Task:
    """Every rule of an argument with several shapes: a chooser, its followers, a free one."""
    forms = [["width"], ["batch", "width"], [1, "tokens", "width"], ["batch", "frames", 1, "width"]]
    whole = ["batch", "tokens", "width"]
    return task_of(
        "modulation",
        [
            {"name": "x", "role": "input", "shape": whole, "dtypes": ["float16", "bfloat16"]},
            {
                "name": "scale",
                "role": "input",
                "shape": [1],
                "forms": forms,
                "like": "x",
                "dtypes": ["float32"],
                "layouts": ["contiguous", "chunk"],
            },
            {
                "name": "shift",
                "role": "input",
                "shape": [1],
                "forms": [*forms[:-1], whole],
                "form_of": "scale",
                "like": "scale",
            },
            {"name": "gate", "role": "input", "shape": [1], "forms": forms, "like": "x"},
            {"name": "w", "role": "input", "shape": ["width"], "like": "x", "optional": True},
            {
                "name": "b",
                "role": "input",
                "shape": ["width"],
                "like": "x",
                "optional": True,
                "passed_with": "w",
                "passed_if": ["mode", "layer"],
            },
            {"name": "y", "role": "output", "shape": whole, "like": "x"},
        ],
        [{"name": "mode", "choices": ["layer", "rms"]}],
        axes={
            "batch": {"low": 2, "high": 4},
            "tokens": {"low": 2, "high": 512},
            "frames": {"low": 2, "high": 16},
            "width": {"low": 2, "high": 256},
        },
        divides=[["frames", "tokens"]],
        layouts=["contiguous"],
    )


TASKS = [RMS_NORM_TASK, LAYER_NORM_TASK, group_norm_task(), heads_task(), modulation_task()]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TASKS), st.integers(0, 2**32), st.sampled_from([2**9, 2**14, 2**20]))
def test_every_row_is_a_call_that_the_domain_allows(task: Task, seed: int, most: int) -> None:
    rows = draw_rows(task, 5, random.Random(seed), most)
    assert [row.id for row in rows] == [f"hidden_{index}" for index in range(5)]
    for row in rows:
        assert list(problems_of(task, row)) == []
        assert all(t.elements <= most for t in row.tensors.values() if t is not None)


def test_the_same_seed_draws_the_same_rows_and_another_one_others() -> None:
    first = draw_rows(RMS_NORM_TASK, 4, random.Random(1))
    assert draw_rows(RMS_NORM_TASK, 4, random.Random(1)) == first
    assert draw_rows(RMS_NORM_TASK, 4, random.Random(2)) != first


def rows_of(task: Task, count: int = 200) -> tuple[Row, ...]:
    return draw_rows(task, count, random.Random(5))


def layouts_of(task: Task, name: str) -> set[Layout]:
    return {layout_of(t) for row in rows_of(task) if (t := row.tensors[name]) is not None}


def width(row: Row) -> int:
    tensor = row.tensors["x"]
    assert tensor is not None
    return tensor.shape[-1]


def test_edges_and_the_bulk_are_drawn() -> None:
    widths = [width(row) for row in rows_of(LAYER_NORM_TASK)]
    # The least, the next, the most; around powers of two; and odd multiples of the step of 8.
    assert {8, 16, 8192} <= set(widths)
    steps = {n // 8 for n in widths}
    assert steps & {2**k - 1 for k in range(3, 10)}
    assert steps & {2**k + 1 for k in range(3, 10)}
    assert len(set(widths)) > 60


def test_one_in_four_rows_or_more_sits_on_an_edge() -> None:
    for seed in range(50):
        widths = [width(row) for row in draw_rows(LAYER_NORM_TASK, 6, random.Random(seed))]
        edges = [
            n for n in widths if n in (8, 16, 8192) or (n // 8) % 2 or n // 8 - 1 & n // 8 == 0
        ]
        assert len(edges) >= 2


@pytest.mark.parametrize(
    ("kind", "multiple"),
    [("least", 3), ("next", 4), ("most", 900), ("below_power", 63), ("above_power", 65)],
)
def test_an_edge_is_the_one_it_is_called(kind: str, multiple: int) -> None:
    class Middle(random.Random):
        def uniform(self, a: float, b: float) -> float:
            return 4.5  # e^4.5 - 1 is 89, so the power of two below it is 64

    assert _multiple(kind, 3, 900, 1, Dealer(Middle())) == multiple


def test_a_few_rows_see_every_dtype_both_ways_of_an_optional_and_empty_batches() -> None:
    for seed in range(20):
        rows = draw_rows(RMS_NORM_TASK, 4, random.Random(seed))
        assert {row.tensors["w"] is None for row in rows} == {True, False}
        assert {t.dtype for row in rows if (t := row.tensors["x"])} == {
            DType.FLOAT32,
            DType.BFLOAT16,
        }
    shapes = [t.shape for row in rows_of(RMS_NORM_TASK) if (t := row.tensors["x"])]
    assert any(0 in shape for shape in shapes)
    assert {len(shape) for shape in shapes} == {2, 3, 4}


def test_all_layouts_of_the_domain_are_drawn_for_inputs_and_outputs_stay_contiguous() -> None:
    assert layouts_of(RMS_NORM_TASK, "x") == set(RMS_NORM_TASK.domain.layouts)
    assert layouts_of(RMS_NORM_TASK, "y") == {Layout.CONTIGUOUS}


def test_what_is_written_never_overlaps() -> None:
    # The domain of heads has no contiguous layout, so its outputs are strided, never broadcast.
    assert layouts_of(heads_task(), "y") == {Layout.STRIDED, Layout.CONTIGUOUS}
    task = group_norm_task(layouts=["contiguous", "broadcast"])
    assert layouts_of(task, "x") == {Layout.CONTIGUOUS}


def test_divisors_divide_and_vary() -> None:
    groups = [
        (row.options["groups"], t.shape[1])
        for row in rows_of(group_norm_task())
        if (t := row.tensors["x"])
    ]
    assert all(isinstance(by, int) and of % by == 0 for by, of in groups)
    assert {1, 32} < {by for by, _ in groups}
    heads = [
        (k.shape[0], q.shape[0])
        for row in rows_of(heads_task())
        if (q := row.tensors["q"]) and (k := row.tensors["k"])
    ]
    assert any(1 < by < of for by, of in heads)


def test_options_reach_their_ends_and_are_log_uniform_between() -> None:
    values = [row.options["eps"] for row in rows_of(RMS_NORM_TASK)]
    assert all(isinstance(value, float) for value in values)
    small = [value for value in values if isinstance(value, float) and value < 3e-6]
    assert {1e-8, 1e-3} <= set(values)
    assert 70 < len(small) < 130
    assert {row.options["mode"] for row in rows_of(heads_task(), 4)} == {"neox", "plain"}


def test_every_form_is_drawn_and_followers_have_their_own_of_the_same_number() -> None:
    pairs = set()
    for row in rows_of(modulation_task(), 40):
        shapes = {name: t.shape for name, t in row.tensors.items() if t is not None}
        axes = dict(zip(("batch", "tokens", "width"), shapes["x"], strict=True))
        named = {extent: name for name, extent in axes.items()}
        if len(named) == 3:
            pairs.add(
                tuple(
                    tuple(named.get(n, n if n == 1 else "frames") for n in shapes[argument])
                    for argument in ("scale", "shift")
                )
            )
    whole = ("batch", "tokens", "width")
    assert pairs >= {
        ((1,), (1,)),
        (("width",), ("width",)),
        (("batch", "width"), ("batch", "width")),
        ((1, "tokens", "width"), (1, "tokens", "width")),
    }
    assert any(scale[1:] == ("frames", 1, "width") for scale, _ in pairs if len(scale) == 4)
    assert all(shift == whole for scale, shift in pairs if len(scale) == 4)


def test_an_argument_beside_the_chooser_has_a_form_of_its_own() -> None:
    rows = rows_of(modulation_task(), 40)
    ranks = {
        (len(s.shape), len(g.shape))
        for r in rows
        if (s := r.tensors["scale"]) and (g := r.tensors["gate"])
    }
    assert len(ranks) > 8


def test_frames_divide_the_tokens() -> None:
    framed = [
        (scale.shape[1], x.shape[1])
        for row in rows_of(modulation_task(), 60)
        if (x := row.tensors["x"]) and (scale := row.tensors["scale"]) and len(scale.shape) == 4
    ]
    assert framed
    assert all(tokens % frames == 0 for frames, tokens in framed)


def test_a_dtype_is_that_of_another_or_one_of_a_list() -> None:
    drawn = {
        (x.dtype, scale.dtype, shift.dtype)
        for row in rows_of(modulation_task(), 40)
        if (x := row.tensors["x"])
        and (scale := row.tensors["scale"])
        and (shift := row.tensors["shift"])
    }
    half, brain, wide = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32
    assert drawn == {
        (half, half, half),
        (brain, brain, brain),
        (half, wide, wide),
        (brain, wide, wide),
    }


def test_an_argument_has_layouts_of_its_own_and_company() -> None:
    task = modulation_task()
    assert layouts_of(task, "scale") == {Layout.CONTIGUOUS, Layout.STRIDED}
    assert layouts_of(task, "gate") == {Layout.CONTIGUOUS}
    company = {
        (r.options["mode"], r.tensors["w"] is not None, r.tensors["b"] is not None)
        for r in rows_of(task, 20)
    }
    assert company == {
        ("layer", True, True),
        ("layer", False, False),
        ("rms", True, False),
        ("rms", False, False),
    }


def test_a_chunk_is_one_of_several_parts_side_by_side() -> None:
    drawn = {
        laid_out((3, 4, 6), DType.FLOAT32, Layout.CHUNK, random.Random(s)).strides
        for s in range(40)
    }
    assert drawn == {(48, 12, 1), (72, 18, 1), (144, 36, 1)}
    assert laid_out((1, 1, 6), DType.FLOAT32, Layout.CHUNK, random.Random(1)).strides is None


def test_a_domain_without_room_is_told() -> None:
    with pytest.raises(UsageError, match=r"test/layer_norm: found no row of layer_norm"):
        draw_rows(LAYER_NORM_TASK, 1, random.Random(1), most_elements=4)


@pytest.mark.parametrize(
    ("shape", "layout", "seen"),
    [
        ((4, 6), Layout.STRIDED, Layout.STRIDED),
        ((6,), Layout.STRIDED, Layout.STRIDED),
        ((), Layout.STRIDED, Layout.CONTIGUOUS),
        ((4, 6), Layout.BROADCAST, Layout.BROADCAST),
        ((1, 1), Layout.BROADCAST, Layout.CONTIGUOUS),
        ((4, 6), Layout.MISALIGNED, Layout.MISALIGNED),
    ],
)
def test_a_tensor_is_laid_out_as_its_shape_allows(
    shape: tuple[int, ...], layout: Layout, seen: Layout
) -> None:
    for seed in range(8):
        tensor = laid_out(shape, DType.FLOAT32, layout, random.Random(seed))
        assert layout_of(tensor) is seen


def test_strides_are_padded_rows_or_a_transposition() -> None:
    drawn = {
        laid_out((4, 6), DType.FLOAT32, Layout.STRIDED, random.Random(s)).strides for s in range(40)
    }
    assert drawn == {(7, 1), (9, 1), (14, 1), (70, 1), (1, 4)}


def test_a_dealer_deals_all_choices_before_it_repeats_one() -> None:
    dealer = Dealer(random.Random(3))
    dealt = [dealer.deal("key", "abc") for _ in range(6)]
    assert sorted(dealt[:3]) == sorted(dealt[3:]) == ["a", "b", "c"]
