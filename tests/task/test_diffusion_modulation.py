"""The diffusion tasks that scale and shift, as far as a host without a GPU can tell."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch.nn import functional

from assay.judge.hidden import draw_rows
from assay.judge.limits import check
from assay.spec.distribution import Distribution
from assay.spec.dtype import DType
from assay.spec.lock import BaselineLock
from assay.spec.task import DeviceKind
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from assay.task import TaskFolder
from assay.task import find_solution
from assay.task import load_task
from assay.task.snapshot.stored import read_lock
from tests.task.diffusion_calls import answer
from tests.task.diffusion_calls import contents_of
from tests.task.diffusion_calls import mutants_of
from tests.task.diffusion_calls import survivors
from tests.task.diffusion_calls import truth

NAMES = ("norm_scale_shift", "norm_tanh_mul_add", "fuse_scale_shift")
TASKS = {name: load_task(f"diffusion/{name}") for name in NAMES}
# Few enough to be fast, many enough for an RMS to tell a rounding more.
FEW = {"diffusion/norm_tanh_mul_add": 64}
FEW_AS_A_RULE = 8


def few_of(task: TaskFolder, row: Row) -> Row:
    """The row with a handful of tokens; width, dtypes, strides and forms as they are."""
    x, few = row.tensors["x"], FEW.get(task.task.name, FEW_AS_A_RULE)
    assert x is not None
    tensors: dict[str, TensorSpec | None] = {}
    for name, tensor in row.tensors.items():
        tensors[name] = tensor
        if tensor is not None and tensor.shape[1:2] == x.shape[1:2]:
            shape = (tensor.shape[0], min(tensor.shape[1], few), *tensor.shape[2:])
            tensors[name] = tensor.model_copy(update={"shape": shape})
    return row.model_copy(update={"tensors": tensors})


def different_rows(task: TaskFolder) -> list[Row]:
    """One of all rows that are the same but for tokens, width and strides."""
    kinds: dict[object, Row] = {}
    for row in (few_of(task, whole) for whole in task.workloads.rows):
        tensors = tuple((t.dtype, len(t.shape)) if t else None for t in row.tensors.values())
        kinds.setdefault((row.function, tensors), row)
    return list(kinds.values())


DIFFERENT = [(name, row.id) for name, task in TASKS.items() for row in different_rows(task)]


def frozen_row(name: str, row: str) -> Row:
    task = TASKS[name]
    return few_of(task, next(r for r in task.workloads.rows if r.id == row))


# -- the documents


@pytest.mark.parametrize("name", NAMES)
def test_the_task_says_where_it_is_judged_and_against_what(name: str) -> None:
    task = TASKS[name].task
    assert task.name == f"diffusion/{name}"
    assert task.device is DeviceKind.CUDA
    assert [baseline.name for baseline in task.baselines] == ["sglang", "eager", "compiled"]
    assert task.primary_baseline.kind == "wheel"


def test_every_captured_row_is_there() -> None:
    rows = [row for task in TASKS.values() for row in task.workloads.rows]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.function] = counts.get(row.function, 0) + 1
    assert counts == {
        "fused_norm_scale_shift": 23,
        "fused_scale_residual_norm_scale_shift": 16,
        "fused_norm_tanh_mul_add": 2,
        "fused_norm_tanh_mul_add_norm_scale": 2,
        "fuse_scale_shift_kernel": 13,
        "fuse_layernorm_scale_shift_gate_select01_kernel": 1,
        "fuse_residual_layernorm_scale_shift_gate_select01_kernel": 1,
    }
    assert all(row.headline and row.models and "b200" in row.seen_on for row in rows)


def test_rows_have_the_strides_that_were_captured() -> None:
    def strides(name: str, row: str, tensor: str) -> tuple[int, ...] | None:
        found = next(r for r in TASKS[name].workloads.rows if r.id == row).tensors[tensor]
        assert found is not None
        return found.strides

    last = "prod14_s18144_c3072_full_nc_fp32"
    assert strides("fuse_scale_shift", last, "scale") == (334430208, 18432, 1)
    assert strides("fuse_scale_shift", last, "shift") is None
    slice_of_tokens = "nss_s8640_d5120_1SD_bf16"
    assert strides("norm_scale_shift", slice_of_tokens, "x") == (56524800, 5120, 1)
    # A kernel that allocates its output like x gives it the same odd stride of a single batch.
    assert strides("norm_scale_shift", slice_of_tokens, "y") == (56524800, 5120, 1)


# -- references


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def reference(name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(TASKS[name].reference, namespace)
    return namespace


def assert_same(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


MODULATIONS = [
    ((1,), (1, 1, 1)),
    ((6,), (1, 1, 6)),
    ((1, 6), (1, 1, 6)),
    ((2, 6), (2, 1, 6)),
    ((1, 1, 6), (1, 1, 6)),
    ((2, 1, 6), (2, 1, 6)),
    ((1, 12, 6), (1, 12, 6)),
    ((2, 12, 6), (2, 12, 6)),
]


@pytest.mark.parametrize(("given", "meant"), MODULATIONS)
def test_each_form_of_a_modulation_is_what_it_broadcasts_to(
    given: tuple[int, ...], meant: tuple[int, ...]
) -> None:
    x, scale, shift = normal(2, 12, 6), normal(*given), normal(*given)
    weight, bias = normal(6), normal(6)
    norm = reference("norm_scale_shift")["fused_norm_scale_shift"]
    mine = norm(x, weight, bias, scale, shift, norm_type="layer", eps=1e-5)
    theirs = functional.layer_norm(x, (6,), weight, bias, 1e-5)
    assert_same(mine, theirs * (1 + scale.view(meant)) + shift.view(meant))
    plain = reference("fuse_scale_shift")["fuse_scale_shift_kernel"]
    for constant in (0, 1):
        mine = plain(x, scale, shift, scale_constant=constant)
        assert_same(mine, x * (constant + scale.view(meant)) + shift.view(meant))


def test_a_modulation_by_frame_holds_for_the_tokens_of_its_frame() -> None:
    x, scale, shift = normal(2, 12, 6), normal(2, 3, 1, 6), normal(2, 12, 6)
    mine = reference("fuse_scale_shift")["fuse_scale_shift_kernel"](
        x, scale, shift, scale_constant=1
    )
    for token in range(12):
        right = x[:, token] * (1 + scale[:, token // 4, 0]) + shift[:, token]
        assert_same(mine[:, token], right)


@pytest.mark.parametrize("gated", [False, True])
def test_the_norm_is_of_the_updated_residual(gated: bool) -> None:
    residual, x = normal(2, 12, 6), normal(2, 12, 6)
    gate = normal(2, 6) if gated else None
    scale, shift, weight = normal(1), normal(1), normal(6)
    y, updated = reference("norm_scale_shift")["fused_scale_residual_norm_scale_shift"](
        residual, x, gate, weight, None, scale, shift, norm_type="rms", eps=1e-5
    )
    right = residual + (x if gate is None else gate[:, None] * x)
    assert_same(updated, right)
    assert_same(y, functional.rms_norm(right, (6,), weight, 1e-5) * (1 + scale) + shift)


@pytest.mark.parametrize("norm_type", ["layer", "rms"])
def test_the_gated_norm_and_the_norm_of_what_came_of_it(norm_type: str) -> None:
    x, scale, shift, scale2 = normal(2, 5, 7), normal(1, 1, 7), normal(2, 5, 7), normal(2, 1, 7)
    weight, weight2 = normal(7), normal(7)
    bias, bias2 = (normal(7), normal(7)) if norm_type == "layer" else (None, None)

    def norm(v: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None) -> torch.Tensor:
        if norm_type == "layer":
            return functional.layer_norm(v, (7,), w, b, 1e-5)
        return functional.rms_norm(v, (7,), w, 1e-5)

    functions = reference("norm_tanh_mul_add")
    options = {"norm_type": norm_type, "eps": 1e-5}
    y = functions["fused_norm_tanh_mul_add"](x, weight, bias, scale, shift, **options)
    assert_same(y, norm(x, weight, bias) * scale.tanh() + shift)
    both = functions["fused_norm_tanh_mul_add_norm_scale"](
        x, weight, bias, scale, shift, weight2, bias2, scale2, **options
    )
    assert torch.equal(both[0], y)
    assert_same(both[1], norm(y, weight2, bias2) * (1 + scale2))


def test_every_token_has_the_modulation_that_its_index_selects() -> None:
    x, residual, residual_gate = normal(2, 5, 7), normal(2, 5, 7), normal(2, 5, 7)
    tables = [normal(2, 7) for _ in range(6)]
    scale0, shift0, gate0, scale1, shift1, gate1 = tables
    index = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])
    name = "fuse_residual_layernorm_scale_shift_gate_select01_kernel"
    out, updated, gate = reference("fuse_scale_shift")[name](
        x, residual, residual_gate, None, None, *tables, index, eps=1e-6
    )
    assert_same(updated, residual + residual_gate * x)
    normalised = functional.layer_norm(updated, (7,), eps=1e-6)
    for batch in range(2):
        for token in range(5):
            first = not index[batch, token]
            scale, shift = (scale0, shift0) if first else (scale1, shift1)
            right = normalised[batch, token] * (1 + scale[batch]) + shift[batch]
            assert_same(out[batch, token], right)
            assert torch.equal(gate[batch, token], (gate0 if first else gate1)[batch])


# -- baselines


def hidden_rows(name: str) -> tuple[Row, ...]:
    return draw_rows(TASKS[name].task, 24, random.Random(11), most_elements=2**14)


@pytest.mark.parametrize("name", NAMES)
def test_the_eager_baseline_is_right_on_hidden_rows(name: str) -> None:
    task = TASKS[name]
    baseline = find_solution(task, "eager")
    dtypes = set()
    for row in hidden_rows(name):
        contents = contents_of(task, row, Distribution.NORMAL)
        right, got = truth(task, row, contents), answer(task, baseline, row, contents)
        for output, due in right.items():
            dtype = got[output].dtype
            dtypes.add(dtype)
            # Four roundings at most, each of what is no larger than the largest value.
            largest = float(due.abs().max()) if due.numel() else 0.0
            # The norm of two values that are nearly equal has few digits of a float32 left.
            cancelled = 1e-5 if due.shape[-1] >= 16 else 1e-3
            allowed = 4 * torch.finfo(dtype).eps * largest + cancelled
            assert ((got[output].double() - due).abs() <= allowed).all(), (row, output)
    assert dtypes == {torch.bfloat16, torch.float16, torch.float32}


@pytest.mark.parametrize("name", NAMES)
def test_the_eager_baseline_keeps_the_limits_that_it_sets_on_every_distribution(name: str) -> None:
    """A domain is no wider than what plain torch is right for: nothing overflows in between."""
    task = TASKS[name]
    baseline = find_solution(task, "eager")
    for row in hidden_rows(name):
        for distribution in Distribution:
            contents = contents_of(task, row, distribution)
            got = answer(task, baseline, row, contents)
            for output, due in truth(task, row, contents).items():
                found = check(due, got[output], got[output], task.task.tolerance)
                assert found is None, (distribution, output, found, row)


class Uncompiled:
    """`torch.compile` that compiles nothing: the code is what is looked at, not the compiler."""

    def __call__(self, **options: object) -> Any:
        assert options == {"dynamic": False}
        return lambda function: function


@pytest.mark.parametrize("name", NAMES)
def test_what_is_compiled_keeps_the_limits_beside_eager(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", Uncompiled())
    task = TASKS[name]
    eager, compiled = find_solution(task, "eager"), find_solution(task, "compiled")
    for row in hidden_rows(name):
        contents = contents_of(task, row, Distribution.OUTLIERS)
        right, beside = truth(task, row, contents), answer(task, eager, row, contents)
        got = answer(task, compiled, row, contents)
        for output, due in right.items():
            assert check(due, beside[output], got[output], task.task.tolerance) is None


@pytest.mark.parametrize("name", NAMES)
def test_hidden_rows_reach_every_function_and_dtype(name: str) -> None:
    rows = draw_rows(TASKS[name].task, 60, random.Random(3), most_elements=2**14)
    assert {row.function for row in rows} == {f.name for f in TASKS[name].task.functions}
    dtypes = {t.dtype for row in rows if (t := row.tensors["x"])}
    assert dtypes == {DType.BFLOAT16, DType.FLOAT16, DType.FLOAT32}


def test_hidden_rows_of_the_modulated_norm_have_all_nine_forms() -> None:
    forms = set()
    for row in draw_rows(TASKS["norm_scale_shift"].task, 200, random.Random(5), 2**16):
        x, scale, shift = (row.tensors[name] for name in ("x", "scale", "shift"))
        assert x is not None
        assert scale is not None
        assert shift is not None
        assert scale.shape == shift.shape
        batch, tokens, _ = x.shape
        if batch > 1 and tokens > 1:
            short = scale.shape if scale.shape == (1,) else scale.shape[:-1]
            axes = {batch: "B", tokens: "S", 1: "1"} if batch != tokens else {1: "1"}
            forms.add((len(scale.shape), *(axes.get(n, "F") for n in short)))
    assert forms >= {
        (1, "1"),
        (1,),
        (2, "1"),
        (2, "B"),
        (3, "1", "1"),
        (3, "B", "1"),
        (3, "1", "S"),
        (3, "B", "S"),
        (4, "B", "F", "1"),
    }


# -- SGLang


LOCKED = {"norm_scale_shift": "0.5.23", "norm_tanh_mul_add": "0.5.16", "fuse_scale_shift": "0.5.23"}


def lock_of(name: str) -> BaselineLock:
    return read_lock(TASKS[name].path / "baselines" / "sglang")


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_has_an_entry_for_every_function_and_says_what_is_left_out(name: str) -> None:
    lock = lock_of(name)
    assert (lock.package, lock.version) == ("sglang", LOCKED[name])
    assert set(lock.entries) == {function.name for function in TASKS[name].task.functions}
    assert all(e.entry.endswith(f":{function}") for function, e in lock.entries.items())
    assert lock.note is not None
    assert "lent the outputs" in lock.note
    assert lock.contract.gradients is False


@pytest.mark.parametrize("name", NAMES)
def test_stand_ins_are_small(name: str) -> None:
    assert all(shim.file.bytes < 1000 for shim in lock_of(name).shims)


class Allocating(types.ModuleType):
    """In place of SGLang's module: functions that allocate what they return, and count it out."""

    def __init__(self, name: str, functions: Mapping[str, int]) -> None:
        super().__init__(name)
        source = "import torch\nmade = []\n" + "".join(
            f"def {function}(x, *_):\n"
            f"    outputs = tuple(torch.empty_like(x) for _ in range({count}))\n"
            f"    made.extend(o.fill_(n).data_ptr() for n, o in enumerate(outputs))\n"
            f"    return outputs if len(outputs) > 1 else outputs[0]\n"
            for function, count in functions.items()
        )
        exec(source, vars(self))


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_writes_straight_to_the_outputs_in_their_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = TASKS[name].task.functions
    counts = {f.name: sum(a.role is Role.OUTPUT for a in f.arguments) for f in functions}
    (module,) = {entry.entry.partition(":")[0] for entry in lock_of(name).entries.values()}
    entries = Allocating(module, counts)
    monkeypatch.setitem(sys.modules, module, entries)
    adapter: dict[str, Any] = {}
    exec((TASKS[name].path / "baselines/sglang/adapter.py").read_text(), adapter)
    for function in functions:
        tensors = [torch.full((2, 3), torch.nan) for _ in function.arguments]
        options = {option.name: None for option in function.options}
        adapter[function.name](*tensors, **options)
        outputs = tensors[-counts[function.name] :]
        assert [float(output[1, 2]) for output in outputs] == list(range(len(outputs)))
        assert entries.made[-len(outputs) :] == [output.data_ptr() for output in outputs]
        assert all(tensor.isnan().all() for tensor in tensors[: -len(outputs)])


# -- mutants


SOME = (
    "nss_s189_d3072_1D_bf16",
    "srnss_s55_d3072_g1D.bf16_1D_bf16",
    "dual_s4096_d3840",
    "prod00_s8424_c3072_row",
    "prod08_residual_select01_s8424",
)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param(name, row, marks=() if row in SOME else pytest.mark.long)
        for name, row in DIFFERENT
    ],
)
def test_every_mutant_falls_or_is_declared(name: str, row: str) -> None:
    task = TASKS[name]
    few = frozen_row(name, row)
    declared = {
        item.mutant
        for item in task.task.equivalent_mutants
        if item.function in (None, few.function)
    }
    assert set(survivors(task, find_solution(task, "eager"), few)) <= declared


@pytest.mark.parametrize("name", NAMES)
def test_what_is_declared_is_a_mutant_of_its_function(name: str) -> None:
    task = TASKS[name]
    for item in task.task.equivalent_mutants:
        rows = [r for r in different_rows(task) if item.function in (None, r.function)]
        assert any(item.mutant in {m.name for m in mutants_of(task, row)} for row in rows)
