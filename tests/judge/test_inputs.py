from __future__ import annotations

import itertools
import math

import pytest
import torch

from assay.judge.axes import extents_of
from assay.judge.contents import data
from assay.judge.contents import power_of_two_edges
from assay.judge.contents import weight
from assay.judge.inputs import make_inputs
from assay.judge.inputs import torch_dtype
from assay.spec.distribution import Distribution
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.task import Task
from tests.judge.small_tasks import RMS_NORM_TASK
from tests.judge.small_tasks import row_of
from tests.judge.small_tasks import seeded
from tests.judge.small_tasks import task_of

FLOATS = [torch_dtype(dtype) for dtype in DType if dtype.is_floating]
FUNCTION = RMS_NORM_TASK.functions[0]
ROW = row_of(FUNCTION, {"x": (3, 4, 16), "w": (16,), "y": (3, 4, 16)}, DType.BFLOAT16, eps=1e-6)


def drawn(
    distribution: Distribution, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    return data(shape, dtype, distribution, 1e-6, seeded(7)).double()


def distinct(values: torch.Tensor) -> list[float]:
    return sorted(set(values.tolist()))


def test_inputs_have_the_rows_shapes_and_dtypes_and_outputs_are_left_out() -> None:
    inputs = make_inputs(FUNCTION, ROW, Distribution.NORMAL, seeded(1))
    assert list(inputs) == ["x", "w"]
    x, w = inputs["x"], inputs["w"]
    assert x is not None
    assert w is not None
    assert (x.shape, x.dtype, x.is_contiguous()) == ((3, 4, 16), torch.bfloat16, True)
    assert (w.shape, w.dtype) == ((16,), torch.bfloat16)


def test_an_absent_optional_is_none() -> None:
    row = row_of(FUNCTION, {"x": (3, 16), "y": (3, 16)}, DType.FLOAT32, eps=1e-6)
    assert make_inputs(FUNCTION, row, Distribution.NORMAL, seeded(1))["w"] is None


@pytest.mark.parametrize("distribution", Distribution)
def test_the_same_seed_gives_the_same_bits_and_another_one_others(
    distribution: Distribution,
) -> None:
    def flat(seed: int) -> list[float]:
        inputs = make_inputs(FUNCTION, ROW, distribution, seeded(seed))
        return [v for tensor in inputs.values() if tensor is not None for v in tensor.view(-1)]

    assert flat(1) == flat(1)
    # Data of zeros and ones are the same each time, but their weights are not.
    assert flat(1) != flat(2)


@pytest.mark.parametrize(
    ("distribution", "dtype", "shape"),
    list(itertools.product(Distribution, FLOATS, [(), (1,), (7,), (0, 5), (2, 3, 33)])),
)
def test_everything_is_finite_in_every_dtype_and_shape(
    distribution: Distribution, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    for values in (
        data(shape, dtype, distribution, 1e-6, seeded(3)),
        weight(shape, dtype, distribution, seeded(3)),
    ):
        assert (values.shape, values.dtype) == (shape, dtype)
        assert values.double().isfinite().all()


def test_normal_data_have_mean_zero_and_spread_one() -> None:
    values = drawn(Distribution.NORMAL, (200, 200))
    assert values.mean().item() == pytest.approx(0, abs=0.02)
    assert values.std().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("dtype", "span"), [(torch.float32, 20), (torch.float16, 12)])
def test_wide_data_reach_over_many_powers_of_two(dtype: torch.dtype, span: int) -> None:
    exponents = drawn(Distribution.WIDE, (100, 100), dtype).abs().log2()
    assert exponents.min().item() == pytest.approx(-span, abs=0.1)
    assert exponents.max().item() == pytest.approx(span, abs=0.1)


@pytest.mark.parametrize(
    ("dtype", "mean", "spread"),
    [(torch.float32, 1000, 1), (torch.bfloat16, 100, 1), (torch.float8_e4m3fn, 100, 16)],
)
def test_offset_data_have_a_large_mean_and_a_small_spread(
    dtype: torch.dtype, mean: float, spread: float
) -> None:
    values = drawn(Distribution.OFFSET, (100, 100), dtype)
    assert values.mean().item() == pytest.approx(mean, rel=0.01)
    assert values.std().item() == pytest.approx(spread, rel=0.15)


def test_outliers_are_few_and_there_is_always_one() -> None:
    assert 20 < (drawn(Distribution.OUTLIERS, (200, 200)).abs() > 10).sum().item() < 60
    torch.testing.assert_close(
        (drawn(Distribution.OUTLIERS, (1,)).abs() > 10).sum(), torch.tensor(1)
    )


@pytest.mark.parametrize(("eps", "spread"), [(1e-6, 1e-3), (1e-4, 1e-2)])
def test_the_tiny_variance_is_the_rows_own_eps(eps: float, spread: float) -> None:
    shapes = {"x": (100, 800), "y": (100, 800)}
    row = row_of(FUNCTION, shapes, DType.FLOAT32, eps=eps)
    x = make_inputs(FUNCTION, row, Distribution.TINY_VARIANCE, seeded(1))["x"]
    assert x is not None
    assert x.std().item() == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize(
    ("distribution", "indices"),
    [
        (Distribution.SPIKE_FIRST, [0]),
        (Distribution.SPIKE_LAST, [16]),
        (Distribution.SPIKE_EDGE, [3, 4, 7, 8, 15, 16]),
    ],
)
def test_spikes_stand_on_every_line_of_the_last_axis_and_on_some_of_the_others(
    distribution: Distribution, indices: list[int]
) -> None:
    huge = drawn(distribution, (17, 5, 17)).abs() == 1000
    assert huge[:, :, indices].all()
    # Along the first axis spikes stand at the same indices, but on a share of the lines only.
    others = [at for at in range(17) if at not in indices]
    for index in indices:
        assert 0 < huge[index][:, others].double().mean().item() < 0.6


def test_edges_are_both_sides_of_every_power_of_two() -> None:
    assert power_of_two_edges(9) == [3, 4, 7, 8]
    assert power_of_two_edges(8) == [3, 4, 7]
    assert power_of_two_edges(3) == [1]


def test_zeros_ones_and_ties_are_exact() -> None:
    assert distinct(drawn(Distribution.ZEROS, (9,))) == [0]
    assert distinct(drawn(Distribution.ONES, (9,))) == [1]
    assert distinct(drawn(Distribution.TIES, (99,))) == [-1, -0.5, 0, 0.5, 1]


@pytest.mark.parametrize("dtype", FLOATS)
def test_denormals_are_below_the_smallest_normal_number(dtype: torch.dtype) -> None:
    values = data((50, 50), dtype, Distribution.DENORMAL, 1e-6, seeded(1)).double().abs()
    assert 0 < values.max().item() < torch.finfo(dtype).smallest_normal


@pytest.mark.parametrize("distribution", Distribution)
def test_weights_neither_vanish_nor_are_all_one(distribution: Distribution) -> None:
    values = weight((64,), torch.float32, distribution, seeded(1))
    assert (values.abs() > 0.1).sum() > 48
    assert ((values - 1).abs() > 0.1).sum() > 32


def gather_task(bound: int | str) -> Task:
    return task_of(
        "gather",
        [
            {"name": "x", "role": "input", "shape": ["*rows", "width"], "dtypes": ["float32"]},
            {
                "name": "index",
                "role": "input",
                "shape": ["picks"],
                "dtypes": ["int32"],
                "integers": [1, bound],
            },
            {"name": "mask", "role": "input", "shape": ["picks"], "dtypes": ["bool"]},
            {"name": "raw", "role": "input", "shape": ["picks"], "dtypes": ["int8"]},
            {"name": "y", "role": "output", "shape": ["picks", "width"], "like": "x"},
        ],
        [],
        axes={"rows": {"high": 99}, "width": {"high": 99}, "picks": {"high": 9999}},
    )


@pytest.mark.parametrize(("bound", "last"), [(9, 8), ("width", 6), ("*rows", 14)])
def test_whole_numbers_are_uniform_below_a_bound_that_may_be_an_axis(
    bound: int | str, last: int
) -> None:
    function = gather_task(bound).functions[0]
    shapes: dict[str, tuple[int, ...]] = {"x": (3, 5, 7), "y": (999, 7)}
    row = row_of(
        function, {**shapes, **dict.fromkeys(("index", "mask", "raw"), (999,))}, DType.INT8
    )
    inputs = make_inputs(function, row, Distribution.WIDE, seeded(1))
    index, raw = inputs["index"], inputs["raw"]
    assert index is not None
    assert raw is not None
    assert distinct(index) == list(range(1, last + 1))
    assert (int(raw.min()), int(raw.max())) == (-128, 127)


def test_booleans_are_a_fair_coin() -> None:
    function = gather_task(9).functions[0]
    row = row_of(function, {"mask": (9999,)}, DType.BOOL)
    mask = make_inputs(function, row, Distribution.ZEROS, seeded(1))["mask"]
    assert mask is not None
    assert mask.double().mean().item() == pytest.approx(0.5, abs=0.02)


def test_an_empty_range_and_an_unknown_axis_are_told() -> None:
    function = gather_task(1).functions[0]
    row = row_of(function, {"index": (4,)}, DType.INT32)
    with pytest.raises(UsageError, match="from 1 to below 1"):
        make_inputs(function, row, Distribution.NORMAL, seeded(1))
    function = gather_task("width").functions[0]
    with pytest.raises(UsageError, match="index: no tensor of the row has the axis width"):
        make_inputs(function, row, Distribution.NORMAL, seeded(1))


def test_a_starred_axis_stands_for_all_that_is_left() -> None:
    assert extents_of(FUNCTION, ROW) == {"batch": (3, 4), "width": (16,)}
    assert math.prod(extents_of(FUNCTION, ROW)["batch"]) == 12
