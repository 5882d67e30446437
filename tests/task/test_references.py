"""Each shipped reference against torch's own operators in float64."""

from __future__ import annotations

import torch
from torch.nn import functional

from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.task import TaskFolder
from assay.task import load_task
from tests.task.calling import Tensors
from tests.task.calling import expected


def assert_same(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


def answer(task: TaskFolder, tensors: Tensors, **options: Scalar) -> torch.Tensor:
    function = task.task.functions[0]
    every: Tensors = {"y": None, **tensors}
    row = Row(id="row", function=function.name, tensors={}, options=options)
    return expected(task, function, every, row)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def test_rms_norm() -> None:
    x, w = normal(7, 33), normal(33)
    mine = answer(load_task("cpu/rms_norm"), {"x": x, "w": w}, eps=1e-5)
    assert_same(mine, functional.rms_norm(x, (33,), w, 1e-5))


def test_group_norm_silu_in_every_rank() -> None:
    for shape in ((2, 8), (2, 8, 5), (1, 8, 3, 5), (2, 8, 3, 2, 5)):
        x, weight, bias = normal(*shape), normal(8), normal(8)
        mine = answer(
            load_task("cpu/group_norm_silu"),
            {"x": x, "weight": weight, "bias": bias},
            num_groups=4,
            eps=1e-5,
        )
        theirs = functional.silu(functional.group_norm(x, 4, weight, bias, 1e-5))
        assert_same(mine, theirs)


def test_rotary_embedding_is_a_product_of_complex_numbers() -> None:
    x, angle = normal(5, 3, 7, 2), normal(5, 7)
    mine = answer(
        load_task("cpu/rotary_embedding"), {"x": x, "cos": angle.cos(), "sin": angle.sin()}
    )
    turn = torch.polar(torch.ones_like(angle), angle)[:, None, :]
    theirs = torch.view_as_real(torch.view_as_complex(x) * turn)
    assert_same(mine, theirs)


def test_layer_norm_scale_shift() -> None:
    x, scale, shift = normal(6, 29), normal(6, 29), normal(6, 29)
    mine = answer(
        load_task("cpu/layer_norm_scale_shift"),
        {"x": x, "scale": scale, "shift": shift},
        eps=1e-6,
    )
    theirs = functional.layer_norm(x, (29,), eps=1e-6) * (1 + scale) + shift
    assert_same(mine, theirs)
