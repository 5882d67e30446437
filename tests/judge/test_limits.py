from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from assay.judge import blocks
from assay.judge import limits
from assay.judge.blocks import Outputs
from assay.judge.contents import data
from assay.judge.limits import Limits
from assay.judge.limits import check
from assay.judge.miss import Miss
from assay.judge.miss import rounded
from assay.spec.contract import Tolerance
from assay.spec.distribution import Distribution
from tests.judge.small_tasks import seeded

DEFAULT = Tolerance()
EXACT = Tolerance(exact=True)
SINGLE = Tolerance(maximum_ulps=4.0, reason="another order of summation in float32")
FLOATS = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
]


def doubles(values: Sequence[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def singles(values: Sequence[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


# Exact in float16, whose ulp is 1/1024 from 1 to 2, so the errors below are exact too.
ULP = 1 / 1024


def halves(errors_in_ulps: Sequence[float]) -> torch.Tensor:
    return (1 + ULP * doubles(errors_in_ulps)).to(torch.float16)


def on_ones(baseline: Sequence[float], candidate: Sequence[float]) -> Miss | None:
    """Truth is one everywhere; errors of both in ulps of float16."""
    return check(doubles([1.0] * len(baseline)), halves(baseline), halves(candidate), DEFAULT)


def test_twice_the_baselines_largest_error_passes_and_more_does_not() -> None:
    # RMS of the baseline: sqrt(16 * 9 / 16) = 3, so 3.75 is allowed and (6, 3, 3, ...) is 3.27.
    assert on_ones([3] * 16, [3] * 15 + [6]) is None
    miss = on_ones([3] * 16, [3] * 15 + [7])
    assert miss == Miss(
        first_bad_index=(15,),
        expected="1.0",
        got=repr(1 + 7 * ULP),
        wrong_elements=1,
        elements=16,
        why="off by 6.8e-03 where 5.9e-03 is allowed",
    )


def test_one_ulp_is_always_allowed_where_the_baseline_is_exact() -> None:
    assert on_ones([0] * 16, [1] + [0] * 15) is None
    assert on_ones([0] * 16, [2] + [0] * 15) is not None


def test_the_rms_is_limited_to_five_quarters_of_the_baselines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "_FEWEST_VALUES", 1)
    # Baseline RMS 2; the candidate's 2.5 passes by a hair, 3 is 1.5 times.
    assert on_ones([2, 2], [math.sqrt(6.25 * 2 - 9) // 1, 3]) is None
    miss = on_ones([2, 2], [3, 3])
    assert miss is not None
    assert miss.why == "RMS error 1.5x the baseline's"
    assert (miss.first_bad_index, miss.wrong_elements) == ((0,), 2)


def test_an_rms_of_half_an_ulp_is_always_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_FEWEST_VALUES", 1)
    # One error of an ulp among four is an RMS of half an ulp; among three it is 0.58.
    assert on_ones([0] * 4, [1, 0, 0, 0]) is None
    miss = on_ones([0] * 3, [1, 0, 0])
    assert miss is not None
    assert miss.why == "RMS error 5.6e-04 where 4.9e-04 is allowed"


def test_the_first_bad_index_counts_in_row_major_order_over_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth = torch.ones(3, 4, 5, dtype=torch.float64)
    candidate = truth.to(torch.float32)
    candidate[1, 3, 2] = candidate[2, 0, 0] = 2.0
    found = check(truth, truth.to(torch.float32), candidate, DEFAULT)
    assert found is not None
    assert (found.first_bad_index, found.wrong_elements, found.elements) == ((1, 3, 2), 2, 60)
    # In blocks of three elements, of two rows, and strided, the answer is the same.
    for elements in (3, 10):
        monkeypatch.setattr(blocks, "_BLOCK_ELEMENTS", elements)
        assert check(truth, truth.to(torch.float32), candidate, DEFAULT) == found
        strided = candidate.transpose(0, 2).contiguous().transpose(0, 2)
        assert check(truth, truth.to(torch.float32), strided, DEFAULT) == found


def test_a_large_element_does_not_excuse_small_ones() -> None:
    # The baseline is off by one ulp everywhere, which at 2^20 is 1/8: as large as the small ones.
    truth = doubles([2.0**20] + [0.125] * 31)
    baseline = torch.nextafter(truth.float(), singles([math.inf]))
    candidate = baseline.clone()
    candidate[5] = 0.15
    miss = check(truth, baseline, candidate, DEFAULT)
    assert miss is not None
    assert miss.first_bad_index == (5,)
    # With the absolute scale alone, the design's two rules, nothing would be seen.
    limits = Limits.of(Outputs(truth, baseline, candidate), DEFAULT)
    assert [scale.unit for scale in limits.scales] == ["one", "ulp"]
    assert replace(limits, scales=limits.scales[:1]).miss() is None


def test_where_the_baseline_cancels_the_slice_is_the_unit() -> None:
    # An error of 2^-23 at 2^-20 is 2^20 of its own ulps and one ulp of its slice's largest value.
    truth = doubles([1.0, 2.0**-20, 2.0**20, 2.0**20]).reshape(2, 2)
    baseline = truth.float()
    baseline[0, 1] += 2.0**-23
    limits = Limits.of(Outputs(truth, baseline, baseline), DEFAULT)
    assert [scale.unit for scale in limits.scales] == ["one", "slice_ulp"]


def test_a_slice_wider_than_a_block_has_one_largest_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK_ELEMENTS", 2)
    # The error of the first element is one ulp of the last, two blocks on.
    truth = doubles([2.0**-20] * 4 + [1.0])
    baseline = truth.float()
    baseline[0] += 2.0**-23
    limits = Limits.of(Outputs(truth, baseline, baseline), DEFAULT)
    assert [scale.unit for scale in limits.scales] == ["one", "slice_ulp"]
    assert limits.scales[1].baseline.worst == 1.0
    assert limits.scales[1].baseline.count == 5


def test_where_no_unit_fits_the_baseline_only_absolute_errors_count() -> None:
    truth = doubles([1e-3, 1.0])
    baseline = singles([2e-3, 1.1])
    limits = Limits.of(Outputs(truth, baseline, baseline), DEFAULT)
    assert [scale.unit for scale in limits.scales] == ["one"]
    assert limits.scales[0].largest == pytest.approx(0.2, rel=1e-6)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("truth", "candidate", "why"),
    [
        ([NAN, 1.0], [NAN, 1.0], None),
        ([1.0, 1.0], [NAN, 1.0], "NaN where a number is due"),
        ([NAN, 1.0], [0.0, 1.0], "a number where NaN is due"),
        ([INF, 1.0], [INF, 1.0], None),
        ([INF, 1.0], [-INF, 1.0], "infinity is due here"),
        ([INF, 1.0], [65504.0, 1.0], "infinity is due here"),
        ([1e6, 1.0], [INF, 1.0], None),
        ([INF, 1.0], [NAN, 1.0], "NaN where a number is due"),
        ([6e4, 1.0], [INF, 1.0], "infinity where a finite number is due"),
        # 65520 is where float16 rounds to infinity; within an ulp of it both sides are right.
        ([65510.0, 1.0], [INF, 1.0], None),
        ([65530.0, 1.0], [65504.0, 1.0], None),
        ([65500.0, 1.0], [INF, 1.0], "infinity where a finite number is due"),
        ([65540.0, 1.0], [65504.0, 1.0], "infinity is due here"),
    ],
)
def test_nan_and_infinity_stand_where_the_truth_has_them(
    truth: list[float], candidate: list[float], why: str | None
) -> None:
    right = doubles(truth)
    half = torch.tensor(candidate, dtype=torch.float16)
    miss = check(right, right.to(torch.float16), half, Tolerance(rms_factor=1.25))
    assert (miss.why if miss else None) == why


def test_infinity_is_due_where_the_baseline_has_a_number_too() -> None:
    half = torch.tensor([65504.0, 1.0], dtype=torch.float16)
    miss = check(doubles([1e6, 1.0]), half, half.clone(), DEFAULT)
    assert miss is not None
    assert (miss.first_bad_index, miss.why) == ((0,), "infinity is due here")


def test_where_the_baseline_breaks_down_a_candidate_may_be_right_or_break_down_alike() -> None:
    truth = doubles([1.0, 2.0, 3.0])
    baseline = singles([1.0, NAN, INF])
    assert check(truth, baseline, singles([1.0, 2.0, 3.0]), DEFAULT) is None
    assert check(truth, baseline, baseline.clone(), DEFAULT) is None
    for candidate in ([1.0, INF, INF], [1.0, NAN, NAN], [1.0, 2.5, INF], [1.0, NAN, -INF]):
        assert check(truth, baseline, singles(candidate), DEFAULT) is not None


def test_dtypes_without_infinity_saturate() -> None:
    truth = doubles([1e9, -1e9, 1.0])
    full = torch.tensor([448.0, -448.0, 1.0]).to(torch.float8_e4m3fn)
    assert check(truth, full, full, DEFAULT) is None
    short = torch.tensor([256.0, -448.0, 1.0]).to(torch.float8_e4m3fn)
    miss = check(truth, full, short, DEFAULT)
    assert miss is not None
    assert (miss.expected, miss.got) == ("448.0", "256.0")


def test_exact_is_bit_for_bit_but_all_nan_are_one() -> None:
    baseline = singles([0.0, NAN, 1.0])
    payload = baseline.view(torch.int32).clone()
    payload[1] += 1
    assert check(baseline.double(), baseline, payload.view(torch.float32), EXACT) is None
    miss = check(baseline.double(), baseline, singles([-0.0, NAN, 1.0]), EXACT)
    assert miss is not None
    assert (miss.expected, miss.got, miss.why) == ("0.0", "-0.0", "bits differ from the baseline's")
    # Without `exact` a negative zero is a zero.
    assert check(baseline.double(), baseline, singles([-0.0, NAN, 1.0]), DEFAULT) is None


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.float64])
def test_exact_knows_every_width(dtype: torch.dtype) -> None:
    baseline = doubles([1.0, 2.0, NAN]).to(dtype)
    assert check(baseline.double(), baseline, baseline.clone(), EXACT) is None
    other = doubles([1.0, 4.0, NAN]).to(dtype)
    miss = check(baseline.double(), baseline, other, EXACT)
    assert miss is not None
    assert miss.first_bad_index == (1,)


def test_whole_numbers_and_booleans_equal_the_truth_whatever_the_baseline_says() -> None:
    truth = torch.tensor([2**60 + 1, 3])
    off = torch.tensor([2**60, 3])
    assert check(truth, off, truth.clone(), DEFAULT) is None
    miss = check(truth, off, off, DEFAULT)
    assert miss is not None
    assert (miss.expected, miss.got) == (str(2**60 + 1), str(2**60))
    flags = torch.tensor([True, False])
    assert check(flags, flags, flags.clone(), DEFAULT) is None
    assert check(doubles([1.0, 0.0]), flags, ~flags, DEFAULT) is not None


def test_an_empty_output_is_right_and_a_scalar_is_compared() -> None:
    empty = torch.empty(0, 3, dtype=torch.float64)
    assert check(empty, empty.float(), empty.float(), DEFAULT) is None
    one = torch.tensor(1.0, dtype=torch.float64)
    assert check(one, one.float(), one.float(), DEFAULT) is None
    miss = check(one, one.float(), one.float() + 1, DEFAULT)
    assert miss is not None
    assert miss.first_bad_index == ()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        check(doubles([1.0]), singles([1.0, 2.0]), singles([1.0, 2.0]), DEFAULT)
    with pytest.raises(ValueError, match="dtype"):
        check(doubles([1.0]), singles([1.0]), doubles([1.0]), DEFAULT)


ANY_SINGLE = st.lists(st.floats(width=32), min_size=1, max_size=20)


@settings(max_examples=100, deadline=None)
@given(ANY_SINGLE, st.sampled_from(FLOATS))
def test_the_correctly_rounded_truth_is_always_right(
    values: list[float], dtype: torch.dtype
) -> None:
    truth = doubles(values)
    best = rounded(truth, dtype)
    assert check(truth, best, best, DEFAULT) is None
    assert check(truth, rounded(truth * 1.01, dtype), best, DEFAULT) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=20), st.floats(-0.1, 0.1))
def test_the_baseline_passes_by_its_own_measure(values: list[float], error: float) -> None:
    truth = doubles(values)
    baseline = (truth * (1 + error) + error).to(torch.float16)
    assert check(truth, baseline, baseline.clone(), DEFAULT) is None


def rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + eps)


def rms_norm_in_eight_lanes(x: torch.Tensor, eps: float) -> torch.Tensor:
    """As a vectorised loop sums: eight partial sums, a division and a square root."""
    lanes = torch.zeros(*x.shape[:-1], 8)
    for at in range(0, x.shape[-1], 8):
        lanes = lanes + x[..., at : at + 8] ** 2
    return x * (1 / torch.sqrt(lanes.sum(dim=-1, keepdim=True) / x.shape[-1] + eps))


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.bfloat16, DEFAULT), (torch.float16, DEFAULT), (torch.float32, SINGLE)],
)
@pytest.mark.parametrize("distribution", Distribution)
def test_an_honest_other_order_of_summation_passes(
    distribution: Distribution, dtype: torch.dtype, tolerance: Tolerance
) -> None:
    for seed in range(10):
        x = data((4, 256), dtype, distribution, 1e-6, seeded(seed))
        truth = rms_norm(x.double(), 1e-6)
        baseline = rms_norm(x.float(), 1e-6).to(dtype)
        twin = rms_norm_in_eight_lanes(x.float(), 1e-6).to(dtype)
        assert check(truth, baseline, twin, tolerance) is None


def test_a_wrong_eps_passes_the_usual_tolerance_and_not_this_one() -> None:
    x = torch.randn(16, 256, generator=seeded(3)) * 0.015
    truth = rms_norm(x.double(), 1e-6)
    for dtype, tolerance in ((torch.float32, SINGLE), (torch.bfloat16, DEFAULT)):
        baseline = rms_norm(x, 1e-6).to(dtype)
        wrong = rms_norm(x, 1e-5).to(dtype)
        assert torch.allclose(wrong.double(), truth, rtol=5e-2, atol=5e-2)
        assert check(truth, baseline, wrong, tolerance) is not None


def test_a_one_pass_variance_falls_to_a_large_mean() -> None:
    x = data((8, 512), torch.float32, Distribution.OFFSET, 1e-6, seeded(4))

    def layer_norm(values: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        return (values - values.mean(-1, keepdim=True)) / torch.sqrt(variance + 1e-6)

    def two_passes(values: torch.Tensor) -> torch.Tensor:
        return layer_norm(values, values.var(-1, keepdim=True, unbiased=False))

    one_pass = layer_norm(x, (x * x).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2)
    assert check(two_passes(x.double()), two_passes(x), one_pass, SINGLE) is not None


def test_the_rms_of_a_tensor_of_one_value_decides_nothing() -> None:
    # One value, one rounding: the baseline is off by a tenth of an ulp, the candidate by nine.
    step = 2.0**-23
    truth = torch.full((4096,), 1 + 0.1 * step, dtype=torch.float64)
    baseline = torch.ones(4096)
    candidate = torch.full((4096,), 1 + step)
    assert check(truth, baseline, candidate, Tolerance()) is None
    # The same errors on many different values are no luck.
    many = torch.linspace(1, 1.9, 4096, dtype=torch.float64).float().double() + 0.1 * step
    miss = check(many, many.float(), many.float() + step, Tolerance())
    assert miss is not None
    assert "RMS" in miss.why
