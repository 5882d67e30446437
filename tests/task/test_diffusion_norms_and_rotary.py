"""Four diffusion tasks, as far as a host without a GPU can tell: rows, references, baselines."""

from __future__ import annotations

import ast
import random
from collections import Counter

import pytest
import torch
from torch.nn import functional

from assay.judge.hidden import draw_rows
from assay.judge.ulp import ulp
from assay.spec.binding import layout_of
from assay.spec.binding import problems_of
from assay.spec.distribution import Distribution
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.solution import Language
from assay.spec.task import DeviceKind
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from assay.task import find_solution
from assay.task import load_task
from tests.task.diffusion_calls import answer
from tests.task.diffusion_calls import contents_of
from tests.task.diffusion_calls import cut
from tests.task.diffusion_calls import survivors
from tests.task.diffusion_calls import truth

NAMES = ("qknorm_rope", "norm_infer", "rotary_embedding", "group_norm_silu")
TASKS = {name: load_task(f"diffusion/{name}") for name in NAMES}
FEW = {"tokens": 8, "positions_known": 8, "rows": 8, "outer": 8, "spatial": 3}


def spec_of(row: Row, name: str) -> TensorSpec:
    spec = row.tensors[name]
    assert spec is not None
    return spec


# -- the rows


def test_every_captured_row_is_there_under_its_name() -> None:
    counted = {
        name: Counter((row.function, row.headline, row.seen_on) for row in task.workloads.rows)
        for name, task in TASKS.items()
    }
    both, b200, h200 = ("h200", "b200"), ("b200",), ("h200",)
    assert counted == {
        "qknorm_rope": {
            ("fused_inplace_qknorm_rope", True, both): 9,
            ("fused_inplace_qknorm_rope", True, b200): 1,
        },
        "norm_infer": {
            ("norm_infer", True, both): 1,
            ("triton_one_pass_rms_norm", True, both): 5,
        },
        "rotary_embedding": {
            ("apply_rotary_embedding", True, both): 1,
            ("apply_ltx2_split_rotary_emb", True, both): 5,
            ("apply_ltx2_split_rotary_emb", True, b200): 5,
        },
        "group_norm_silu": {
            ("triton_group_norm_silu", True, both): 48,
            ("triton_group_norm_silu", True, b200): 32,
            ("apply_group_norm_silu", False, h200): 5,
        },
    }
    assert all(row.models for task in TASKS.values() for row in task.workloads.rows)


def test_the_largest_row_of_each_task_moves_what_it_was_captured_with() -> None:
    moved = {
        name: max(
            sum(tensor.bytes for tensor in row.tensors.values() if tensor is not None)
            for row in task.workloads.rows
        )
        for name, task in TASKS.items()
    }
    assert moved == {
        "qknorm_rope": 2 * 7904 * 32 * 128 * 2 + 2 * 128 * 2 + 7904 * (128 * 4 + 8),
        "norm_infer": 2 * 8640 * 5120 * 4 + 2 * 5120 * 4,
        "rotary_embedding": 3 * 24576 * 4096 * 2,
        "group_norm_silu": 2 * 256 * 17 * 256 * 256 * 2 + 2 * 256 * 2,
    }


def test_the_queries_of_one_model_have_another_eps() -> None:
    rows = TASKS["qknorm_rope"].workloads.rows
    eps = {row.models: row.options["eps"] for row in rows}
    assert eps[("zimage",)] == 1e-5
    assert {value for models, value in eps.items() if models != ("zimage",)} == {1e-6}
    assert {spec_of(row, "positions").dtype for row in rows} == {DType.INT64}


def test_channels_last_rows_have_the_strides_of_channels_last() -> None:
    rows = [r for r in TASKS["group_norm_silu"].workloads.rows if r.id.endswith("_CL3D")]
    assert len(rows) == 32
    for row in rows:
        x, y = spec_of(row, "x"), spec_of(row, "y")
        _, channels, _, height, width = x.shape
        _, *steps = x.strides or ()
        assert steps == [1, height * width * channels, width * channels, channels]
        assert layout_of(y) is Layout.CONTIGUOUS


def test_the_split_tables_lie_as_their_model_makes_them() -> None:
    for row in TASKS["rotary_embedding"].workloads.rows:
        if row.function == "apply_ltx2_split_rotary_emb":
            cos = spec_of(row, "cos")
            _, heads, tokens, half = cos.shape
            assert cos.strides == (heads * tokens * half, half, heads * half, 1)
            assert spec_of(row, "sin") == cos
            assert spec_of(row, "x").shape == (cos.shape[0], tokens, heads * 2 * half)


@pytest.mark.parametrize("name", NAMES)
def test_a_task_has_three_opinions_and_is_judged_on_a_gpu(name: str) -> None:
    task = TASKS[name]
    assert task.task.name == f"diffusion/{name}"
    assert task.task.device is DeviceKind.CUDA
    assert not task.task.contract.gradients
    local = {b.name for b in task.task.baselines if b.kind == "local"}
    assert local == {"eager", "compiled"}
    languages = {find_solution(task, b).solution.language for b in local}
    assert languages == {Language.TORCH}


# -- the domain


@pytest.mark.parametrize("name", NAMES)
def test_hidden_rows_see_all_that_the_domain_promises(name: str) -> None:
    task = TASKS[name].task
    rows = draw_rows(task, 64, random.Random(2), 2**14)
    assert not any(problem for row in rows for problem in problems_of(task, row))
    for function in task.functions:
        called = [row for row in rows if row.function == function.name]
        for argument in function.arguments:
            given = [t for row in called if (t := row.tensors[argument.name]) is not None]
            if argument.dtypes is not None:
                assert {tensor.dtype for tensor in given} == set(argument.dtypes)
            if argument.layouts is not None:
                strange = set(argument.layouts) - {Layout.CHUNK, Layout.CONTIGUOUS}
                assert strange <= {layout_of(tensor) for tensor in given}
    if name == "qknorm_rope":
        dims = {(spec_of(r, "q").shape[2], spec_of(r, "cos_sin_cache").shape[1]) for r in rows}
        assert dims == {(64, 64), (128, 64), (128, 128), (256, 64), (256, 128), (256, 256)}
        assert any(spec_of(r, "q").shape[1] != spec_of(r, "k").shape[1] for r in rows)


# -- the references


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))


def called(name: str, function: str, *tensors: torch.Tensor | None, **options: object) -> object:
    namespace: dict[str, object] = {}
    exec(TASKS[name].reference, namespace)
    reference = namespace[function]
    assert callable(reference)
    return reference(*tensors, **options)


def close(one: object, other: torch.Tensor) -> None:
    assert isinstance(one, torch.Tensor)
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_neox", [False, True])
def test_the_rotation_of_queries_is_one_of_complex_numbers(is_neox: bool) -> None:
    q, k, weight = normal(5, 3, 64), normal(5, 2, 64), normal(64)
    angles, positions = normal(9, 16), torch.tensor([8, 0, 3, 3, 1])
    cache = torch.cat((angles.cos(), angles.sin()), dim=-1)
    made = called(
        "qknorm_rope",
        "fused_inplace_qknorm_rope",
        *(q, k, weight, weight, cache, positions),
        is_neox=is_neox,
        eps=1e-5,
    )
    assert isinstance(made, tuple)
    turn = torch.polar(torch.ones_like(angles), angles)[positions][:, None]
    for heads, due in zip((q, k), made, strict=True):
        normed = functional.rms_norm(heads, (64,), weight, 1e-5)
        turned = normed[..., :32]
        pairs = turned.unflatten(-1, (2, 16)).mT if is_neox else turned.unflatten(-1, (16, 2))
        rotated = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
        flat = rotated.mT.flatten(-2) if is_neox else rotated.flatten(-2)
        close(due, torch.cat((flat, normed[..., 32:]), dim=-1))


def test_the_norms_are_those_of_torch() -> None:
    x, weight, bias = normal(7, 33), normal(33), normal(33).flip(0)
    made = called("norm_infer", "norm_infer", x, weight, bias, eps=1e-5, is_rms_norm=False)
    close(made, functional.layer_norm(x, (33,), weight, bias, 1e-5))
    made = called("norm_infer", "norm_infer", x, None, bias, eps=1e-5, is_rms_norm=True)
    close(made, functional.rms_norm(x, (33,), None, 1e-5) + bias)
    made = called("norm_infer", "triton_one_pass_rms_norm", x[None], weight, eps=1e-5)
    close(made, functional.rms_norm(x[None], (33,), weight, 1e-5))


@pytest.mark.parametrize("function", ["triton_group_norm_silu", "apply_group_norm_silu"])
def test_the_group_norm_is_that_of_torch(function: str) -> None:
    x, weight, bias = normal(2, 12, 3, 5), normal(12), normal(12).flip(0)
    made = called("group_norm_silu", function, x, weight, bias, num_groups=4, eps=1e-5)
    close(made, functional.silu(functional.group_norm(x, 4, weight, bias, 1e-5)))


def test_neighbours_are_rotated_by_the_angles_of_their_token() -> None:
    x, angles = normal(2, 4, 3, 10), normal(4, 5)
    made = called(
        "rotary_embedding",
        "apply_rotary_embedding",
        *(x, angles.cos(), angles.sin()),
        interleaved=False,
    )
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]
    turned = torch.view_as_complex(x.unflatten(-1, (5, 2))) * turn
    close(made, torch.view_as_real(turned).flatten(-2))


def test_the_split_form_rounds_the_product_with_the_cosine() -> None:
    x = torch.tensor([[[1.0, 1.0, 2.0, 0.0]]], dtype=torch.float64)
    # 1 + 2^-8 has nine bits: halfway between two numbers of bfloat16, and rounded to the even one.
    cos = torch.full((1, 2, 1, 1), 1 + 2.0**-8, dtype=torch.float64)
    sin = torch.full((1, 2, 1, 1), 2.0**-10, dtype=torch.float64)
    made = called("rotary_embedding", "apply_ltx2_split_rotary_emb", x, cos, sin)
    assert isinstance(made, torch.Tensor)
    assert made.flatten().tolist() == [1 - 2.0**-10, 1 + 2.0**-10, 2.0, 2.0**-9]


# -- the baselines of our own


@pytest.mark.parametrize("name", NAMES)
def test_eager_agrees_with_the_reference_on_hidden_rows(name: str) -> None:
    task, eager = TASKS[name], find_solution(TASKS[name], "eager")
    for row in draw_rows(task.task, 24, random.Random(5), 2**13):
        for distribution in (Distribution.NORMAL, Distribution.SPIKE_LAST, Distribution.TIES):
            contents = contents_of(task, row, distribution)
            made = answer(task, eager, row, contents)
            for output, due in truth(task, row, contents).items():
                got = made[output]
                in_range = due.abs() < torch.finfo(got.dtype).max
                assert (got.isfinite() == in_range).all(), (row, distribution)
                errors = (got.double() - due)[in_range].abs()
                largest = (
                    due[in_range].abs().amax()
                    if in_range.any()
                    else torch.zeros((), dtype=torch.float64)
                )
                # Of the largest value: group norm and silu round twice, float32 sums in float32.
                assert (errors <= 4 * ulp(largest[None], got.dtype)).all(), (row, distribution)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_is_eager_compiled(name: str) -> None:
    """Every row is a graph of its own, and no more of them than there is room for."""
    sources = {
        baseline: find_solution(TASKS[name], baseline).sources[f"{name}.py"].decode()
        for baseline in ("eager", "compiled")
    }
    eager, compiled = (functions_of(source) for source in sources.values())
    if name == "rotary_embedding":  # of this one the compiler would leave out a rounding
        assert eager.pop("apply_ltx2_split_rotary_emb")
        assert compiled.pop("apply_ltx2_split_rotary_emb")
        assert '"emulate_precision_casts": True' in sources["compiled"]
    assert eager == compiled
    text = sources["compiled"]
    assert "torch.compile(dynamic=False)" in text
    assert "fail_on_recompile_limit_hit = True" in text
    decorated = [
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    aliases = {"apply_group_norm_silu"}
    assert {f.name for f in TASKS[name].task.functions} - aliases == set(decorated)


def functions_of(source: str) -> dict[str, str]:
    """The definitions of a module, without decorators."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    for node in found:
        node.decorator_list = []
    return {node.name: ast.unparse(node) for node in found}


# -- the tasks can fail


@pytest.mark.parametrize("name", NAMES)
def test_no_mutant_survives_on_a_cut_row(name: str) -> None:
    task, eager = TASKS[name], find_solution(TASKS[name], "eager")
    rows = {str(row.tensors) + row.function: row for row in map(short, task.workloads.rows)}
    seen: set[str] = set()
    for row in rows.values():
        # One of each function and dtype; the others differ in extents that are cut here.
        kind = f"{row.function} {next(iter(row.tensors.values()))!s} {row.options}"
        if (key := kind.split("strides")[0]) not in seen:
            seen.add(key)
            assert list(survivors(task, eager, row)) == [], row
    assert {key.split()[0] for key in seen} == {f.name for f in task.task.functions}


def short(row: Row) -> Row:
    task = next(t for t in TASKS.values() if t.task.function(row.function) is not None)
    return cut(task, row, FEW)
