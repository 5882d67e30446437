from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.judge.ulp import overflow
from assay.judge.ulp import ulp

# dtype, value, spacing of the dtype there, worked out from its bits.
BY_HAND = [
    (torch.float64, 1.0, 2.0**-52),
    (torch.float64, 0.0, 2.0**-1074),
    (torch.float64, 1e-310, 2.0**-1074),
    (torch.float64, 1.7e308, 2.0**971),
    (torch.float32, 1.0, 2.0**-23),
    (torch.float32, 0.999, 2.0**-24),
    (torch.float32, -1.5, 2.0**-23),
    (torch.float32, 1e-40, 2.0**-149),
    (torch.float16, 1000.0, 0.5),
    (torch.float16, 65504.0, 32.0),
    (torch.float16, 1e-7, 2.0**-24),
    (torch.bfloat16, 1.0, 2.0**-7),
    (torch.bfloat16, 0.0, 2.0**-133),
    (torch.float8_e4m3fn, 1.0, 0.125),
    (torch.float8_e4m3fn, 448.0, 32.0),
    (torch.float8_e4m3fn, 0.0, 2.0**-9),
    (torch.float8_e4m3fnuz, 240.0, 16.0),
    (torch.float8_e4m3fnuz, 0.0, 2.0**-10),
    (torch.float8_e5m2, 1.0, 0.25),
    (torch.float8_e5m2, 0.0, 2.0**-16),
]


@pytest.mark.parametrize(("dtype", "value", "spacing"), BY_HAND)
def test_the_spacing_is_the_one_in_the_bits(
    dtype: torch.dtype, value: float, spacing: float
) -> None:
    assert ulp(torch.tensor([value], dtype=torch.float64), dtype).item() == spacing


def test_beyond_the_range_it_stays_that_of_the_last_binade() -> None:
    values = torch.tensor([1e9, math.inf, -math.inf, math.nan], dtype=torch.float64)
    assert ulp(values, torch.float16).tolist() == [32.0] * 4


@given(st.floats(width=32, min_value=0, max_value=2.0**127))
def test_it_is_the_step_to_the_next_float32(value: float) -> None:
    here = torch.tensor([value], dtype=torch.float32)
    step = torch.nextafter(here, torch.tensor([math.inf])).double() - here.double()
    assert ulp(here.double(), torch.float32).item() == step.item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_overflow_is_the_least_number_that_rounds_to_infinity(dtype: torch.dtype) -> None:
    edge = torch.tensor(overflow(dtype), dtype=torch.float64)
    assert math.isinf(edge.to(dtype).item())
    assert math.isfinite(
        (edge * (1 - 2.0**-20 if dtype != torch.float32 else 1 - 2.0**-40)).to(dtype).item()
    )


def test_without_infinity_nothing_overflows() -> None:
    assert overflow(torch.float8_e4m3fn) == overflow(torch.float64) == math.inf
