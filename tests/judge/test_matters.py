from __future__ import annotations

import math

import pytest
import torch

from assay.judge.matters import constant_axes
from assay.judge.matters import differ
from assay.judge.matters import varies_along_every_axis


@pytest.mark.parametrize(
    ("values", "axes"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], ()),
        ([[1.0, 2.0], [1.0, 2.0]], (0,)),
        ([[1.0, 1.0], [2.0, 2.0]], (1,)),
        ([[0.0, -0.0], [math.nan, math.nan]], (1,)),
        ([[5.0]], ()),
    ],
)
def test_an_axis_is_constant_when_nothing_changes_along_it(
    values: list[list[float]], axes: tuple[int, ...]
) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e5m2):
        output = torch.tensor(values).to(dtype)
        assert constant_axes(output) == axes
        assert varies_along_every_axis(output) == (axes == ())


def test_an_empty_output_and_a_scalar_vary_as_far_as_they_can() -> None:
    assert varies_along_every_axis(torch.empty(0, 4))
    assert varies_along_every_axis(torch.tensor(1.0))


def test_outputs_differ_by_value() -> None:
    one = torch.tensor([1.0, math.nan, 0.0])
    assert not differ(one, torch.tensor([1.0, math.nan, -0.0]))
    assert differ(one, torch.tensor([1.0, 2.0, 0.0]))
    assert differ(one, torch.tensor([1.0, math.nan]))
