"""The CUDA tasks that ship, as far as a host without a GPU can tell.

Torch solutions run on the CPU, Triton ones in its interpreter; CUDA sources are only read.
"""

from __future__ import annotations

import importlib.util
import itertools
import multiprocessing
import os
import re
import sys
import zlib
from collections.abc import Callable
from collections.abc import Iterator
from concurrent.futures import Executor
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from assay.judge.inputs import make_inputs
from assay.judge.limits import check
from assay.judge.miss import Miss
from assay.spec.binding import problems_of
from assay.spec.distribution import Distribution
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.solution import Language
from assay.spec.task import DeviceKind
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec
from assay.task import LoadedSolution
from assay.task import TaskFolder
from assay.task import find_solution
from assay.task import load_task
from assay.task.freeze import FreezeStatus
from tests.gpu import needs_gpu
from tests.task.calling import torch_dtype

TASKS = {name: load_task(name) for name in ("cuda/rms_norm", "cuda/scale_residual")}
ROWS_OF = [(name, row.id) for name, task in TASKS.items() for row in task.workloads.rows]
# Few enough to be interpreted, many enough for an RMS to be compared.
FEW = 8

Config = dict[str, Scalar]
Specs = dict[str, TensorSpec | None]


# -- calls


def spec(*shape: int, dtype: DType = DType.FLOAT32, **more: Any) -> TensorSpec:
    return TensorSpec(shape=shape, dtype=dtype, **more)


def rms_norm_row(x: TensorSpec, w: TensorSpec | None = None, y: TensorSpec | None = None) -> Row:
    gain = w or spec(x.shape[1], dtype=x.dtype)
    tensors: Specs = {"x": x, "w": gain, "y": y or spec(*x.shape, dtype=x.dtype)}
    return Row(id="odd", function="rms_norm", tensors=tensors, options={"eps": 1e-5})


def residual_row(x: TensorSpec, **others: TensorSpec) -> Row:
    gate = spec(x.shape[0], 1, x.shape[2], dtype=x.dtype)
    plain = spec(*x.shape, dtype=x.dtype)
    tensors: Specs = {"residual": plain, "x": x, "gate": gate, "y": plain, **others}
    return Row(id="odd", function="scale_residual", tensors=tensors)


BF16, F16 = DType.BFLOAT16, DType.FLOAT16
ODD_ROWS: dict[str, list[Row]] = {
    "cuda/rms_norm": [
        rms_norm_row(spec(0, 5)),
        rms_norm_row(spec(1, 1)),
        rms_norm_row(spec(1, 16384)),
        rms_norm_row(spec(2, 8195, dtype=F16)),
        rms_norm_row(spec(300, 3, dtype=BF16)),
        rms_norm_row(spec(2, 17), y=spec(2, 17, strides=(40, 2))),
        rms_norm_row(spec(5, 31, strides=(33, 1), offset=1), w=spec(31, strides=(3,))),
        rms_norm_row(spec(4, 130, strides=(1, 4))),
        rms_norm_row(spec(3, 128, dtype=BF16, offset=1), w=spec(128, dtype=BF16, offset=3)),
        rms_norm_row(spec(3, 128, dtype=BF16), y=spec(3, 128, dtype=BF16, offset=1)),
        rms_norm_row(spec(3, 128, dtype=F16, strides=(129, 1))),
        rms_norm_row(spec(7, 9, dtype=F16, strides=(27, 3))),
    ],
    "cuda/scale_residual": [
        residual_row(spec(0, 3, 5)),
        residual_row(spec(2, 0, 5)),
        residual_row(spec(1, 1, 1)),
        residual_row(spec(3, 70, 3, dtype=BF16)),
        residual_row(spec(2, 3, 1030, dtype=F16)),
        residual_row(spec(2, 3, 17), y=spec(2, 3, 17, strides=(120, 40, 2))),
        residual_row(spec(2, 5, 31, offset=1), gate=spec(2, 1, 31, strides=(93, 31, 3))),
        residual_row(spec(2, 4, 130, strides=(520, 1, 4))),
        residual_row(spec(2, 4, 64, dtype=BF16), residual=spec(2, 4, 64, dtype=BF16, offset=1)),
        residual_row(
            spec(2, 4, 64, dtype=BF16), gate=spec(2, 1, 64, dtype=BF16, strides=(0, 1, 1))
        ),
        residual_row(spec(2, 4, 64, strides=(64, 0, 1)), gate=spec(2, 1, 64, strides=(1, 1, 0))),
        residual_row(spec(2, 4, 64, dtype=F16), y=spec(2, 4, 64, dtype=F16, offset=1)),
    ],
}


def few_of(row: Row) -> Row:
    """The row with a handful of tokens; width, dtypes and the strides of its gate as they are."""
    tensors: Specs = {}
    for name, tensor in row.tensors.items():
        assert tensor is not None
        *outer, tokens, width = (1, *tensor.shape)
        shape = (*outer, min(tokens, FEW), width)[-len(tensor.shape) :]
        tensors[name] = tensor.model_copy(update={"shape": shape})
    return row.model_copy(update={"tensors": tensors})


def frozen_row(name: str, row: str) -> Row:
    return few_of(next(r for r in TASKS[name].workloads.rows if r.id == row))


def laid_out(tensor: TensorSpec, content: torch.Tensor | None) -> torch.Tensor:
    """A tensor in storage of NaN; of an axis that is repeated the first slice is taken."""
    storage = torch.full(
        (tensor.storage_elements + 64,), torch.nan, dtype=torch_dtype(tensor.dtype)
    )
    steps = tensor.strides or tensor.contiguous_strides
    made = torch.as_strided(storage, tensor.shape, steps, tensor.offset)
    if content is not None:
        once = tuple(slice(0, 1) if step == 0 else slice(None) for step in steps)
        made[once] = content[once]
    return made


def make_tensors(function: Function, row: Row, distribution: Distribution) -> list[torch.Tensor]:
    """Inputs that depend on row and distribution alone, as the judge would make them."""
    seed = zlib.crc32(f"{row.id} {distribution}".encode())
    contents = make_inputs(function, row, distribution, torch.Generator().manual_seed(seed))
    specs = [row.tensors[argument.name] for argument in function.arguments]
    return [
        laid_out(tensor, contents.get(argument.name))
        for argument, tensor in zip(function.arguments, specs, strict=True)
        if tensor is not None
    ]


# -- answers


def module_of(solution: LoadedSolution, config: Config) -> Any:
    """The solution as a runner loads it: Triton wants a file to read its source from."""
    path = solution.folder / solution.solution.entry
    made = importlib.util.spec_from_file_location("solution", path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    with mock.patch.object(sys, "dont_write_bytecode", True):
        made.loader.exec_module(module)
    if config:
        module.configure(**config)
    return module


def answer(
    name: str,
    solution: str,
    row: Row,
    distribution: Distribution = Distribution.NORMAL,
    config: Config | None = None,
) -> torch.Tensor:
    """What a solution writes; whatever lies between and around must be left alone."""
    function = TASKS[name].task.functions[0]
    loaded = find_solution(TASKS[name], solution)
    module = module_of(loaded, config or loaded.solution.config)
    tensors = make_tensors(function, row, distribution)
    before = [tensor.clone() for tensor in tensors]
    with torch.no_grad():
        getattr(module, function.name)(*tensors, **row.options)
    for argument, tensor, was in zip(function.arguments, tensors, before, strict=True):
        assert argument.role is Role.OUTPUT or torch.equal(tensor, was), argument.name
    *_, y = tensors
    untouched = torch.ones(y.untyped_storage().nbytes() // y.itemsize, dtype=torch.bool)
    torch.as_strided(untouched, y.shape, y.stride(), y.storage_offset()).fill_(False)
    assert torch.as_strided(y, untouched.shape, (1,), 0)[untouched].isnan().all()
    return y


def truth(name: str, row: Row, distribution: Distribution) -> torch.Tensor:
    function = TASKS[name].task.functions[0]
    namespace: dict[str, Any] = {}
    exec(TASKS[name].reference, namespace)
    inputs = [tensor.double() for tensor in make_tensors(function, row, distribution)[:-1]]
    right = namespace[function.name](*inputs, **row.options)
    assert isinstance(right, torch.Tensor)
    assert right.dtype == torch.float64
    return right


def miss(name: str, row: Row, distribution: Distribution, got: torch.Tensor) -> Miss | None:
    """Where an answer breaks the task's limits, given what the baseline answers."""
    baseline = answer(name, TASKS[name].task.primary_baseline.name, row, distribution)
    tolerance = TASKS[name].task.tolerance
    return check(truth(name, row, distribution), baseline, got, tolerance)


Ask = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def interpreted() -> Iterator[Ask]:
    """`answer` in a process of its own: Triton decides at its import whether it interprets."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with mock.patch.dict(os.environ, TRITON_INTERPRET="1"):
            pool.submit(round_as_a_gpu_does).result()
        yield asking(pool)


def asking(pool: Executor) -> Ask:
    return lambda *arguments, **more: pool.submit(answer, *arguments, **more).result()


def round_as_a_gpu_does() -> None:
    """Triton 3.6's interpreter cuts a float32 off at bfloat16 and misreads denormal bfloat16."""
    from triton.runtime import interpreter

    def convert(values: Any, _: Any, to: Any, mode: Any) -> Any:
        plain = np.ascontiguousarray(values)
        if to.primitive_bitwidth == 16:
            return torch.from_numpy(plain).bfloat16().view(torch.int16).numpy().view(np.uint16)
        return torch.from_numpy(plain.view(np.int16)).view(torch.bfloat16).float().numpy()

    interpreter._convert_float = convert


# -- the documents


@pytest.mark.parametrize("name", TASKS)
def test_a_cuda_task_says_where_it_is_judged(name: str) -> None:
    task = TASKS[name]
    assert task.task.name == name
    assert task.task.device is DeviceKind.CUDA
    assert task.solution_names == ("cuda", "tie", "triton", "wrong")
    languages = {s: find_solution(task, s).solution.language for s in task.solution_names}
    assert languages == {
        "cuda": Language.CUDA,
        "tie": Language.TORCH,
        "triton": Language.TRITON,
        "wrong": Language.TRITON,
    }


@pytest.mark.parametrize("name", TASKS)
def test_a_cuda_task_is_frozen_as_it_is(name: str) -> None:
    assert TASKS[name].freeze_state.status is FreezeStatus.FROZEN


def test_each_row_is_bound_by_memory_or_by_the_host() -> None:
    moved = {
        row.id: sum(tensor.bytes for tensor in row.tensors.values() if tensor is not None)
        for task in TASKS.values()
        for row in task.workloads.rows
    }
    # 50 us and more at the 4.2 TB/s that a copy reaches on an H200, or 2 MB and less.
    assert moved == {
        "m650040_d128_bf16": 332_820_736,
        "m44100_d1536_f16": 270_953_472,
        "m18144_d3072_bf16": 222_959_616,
        "m27030_d3072_f32": 664_301_568,
        "m8640_d5120_f32": 353_914_880,
        "m456_d128_bf16": 233_728,
        "m1320_d128_bf16": 676_096,
        "m101_d1536_f16": 623_616,
        "m55_d3072_f32": 1_363_968,
        "m32_d3840_bf16": 499_200,
        "t27030_d3072_bf16": 498_223_104,
        "t11040_d5120_f16": 339_159_040,
        "t8424_d3072_f32": 310_554_624,
        "t19_d3072_bf16": 356_352,
        "t55_d3072_f16": 1_019_904,
        "t47_d3072_f32": 1_744_896,
    }
    assert all(bytes_ >= 200e6 or bytes_ <= 2e6 for bytes_ in moved.values())


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_called_after_their_shape_and_see_every_dtype(name: str) -> None:
    short = {DType.BFLOAT16: "bf16", DType.FLOAT16: "f16", DType.FLOAT32: "f32"}
    seen = set()
    for row in TASKS[name].workloads.rows:
        x = row.tensors["x"]
        assert x is not None
        letter = "m" if name == "cuda/rms_norm" else "t"
        assert row.id == f"{letter}{x.shape[-2]}_d{x.shape[-1]}_{short[x.dtype]}"
        seen.add((x.dtype, x.bytes > 1e8))
    assert seen == set(itertools.product(short, (False, True)))


@pytest.mark.parametrize("name", TASKS)
def test_the_odd_rows_are_calls_that_the_domain_promises(name: str) -> None:
    for row in ODD_ROWS[name]:
        assert list(problems_of(TASKS[name].task, row)) == []
    assert {Layout.STRIDED, Layout.MISALIGNED} <= set(TASKS[name].task.domain.layouts)


def test_the_references_are_what_torch_computes_in_float64() -> None:
    x, w, other = (torch.randn(shape, dtype=torch.float64) for shape in ((7, 33), (33,), (7, 33)))
    norm: dict[str, Any] = {}
    exec(TASKS["cuda/rms_norm"].reference, norm)
    right = functional.rms_norm(x, (33,), w, 1e-5)
    torch.testing.assert_close(norm["rms_norm"](x, w, eps=1e-5), right, rtol=1e-12, atol=1e-12)
    gated: dict[str, Any] = {}
    exec(TASKS["cuda/scale_residual"].reference, gated)
    mine = gated["scale_residual"](other[None], x[None], w[None, None])
    right = torch.addcmul(other, x, w)[None]
    torch.testing.assert_close(mine, right, rtol=1e-12, atol=1e-12)


# -- torch solutions


@pytest.mark.parametrize("name", TASKS)
def test_baseline_and_tie_are_right_on_every_odd_call(name: str) -> None:
    for row in ODD_ROWS[name]:
        for distribution in (Distribution.NORMAL, Distribution.TINY_VARIANCE):
            right = truth(name, row, distribution)
            baseline = answer(name, "naive", row, distribution)
            assert torch.equal(answer(name, "tie", row, distribution), baseline)
            # Four last places of the largest value: both round a few times.
            largest = right.abs().amax() if right.numel() else torch.tensor(0.0)
            allowed = 4 * torch.finfo(baseline.dtype).eps * largest
            assert ((baseline.double() - right).abs() <= allowed).all(), row.tensors


@pytest.mark.parametrize(("name", "row"), ROWS_OF)
def test_the_tie_gives_the_bits_of_the_baseline(name: str, row: str) -> None:
    for distribution in Distribution:
        baseline = answer(name, "naive", frozen_row(name, row), distribution)
        tie = answer(name, "tie", frozen_row(name, row), distribution)
        assert torch.equal(tie, baseline)


class Operators(TorchDispatchMode):
    """Which operators reach the device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def operators_of(task: TaskFolder, solution: str, row: Row) -> list[str]:
    function = task.task.functions[0]
    module = module_of(find_solution(task, solution), {})
    tensors = make_tensors(function, row, Distribution.NORMAL)
    with Operators() as seen:
        getattr(module, function.name)(*tensors, **row.options)
    return sorted(seen.names)


@pytest.mark.parametrize(("name", "row"), ROWS_OF)
def test_the_tie_is_other_source_and_the_same_operators(name: str, row: str) -> None:
    task = TASKS[name]
    assert find_solution(task, "tie").sources != find_solution(task, "naive").sources
    tie = operators_of(task, "tie", frozen_row(name, row))
    assert tie == operators_of(task, "naive", frozen_row(name, row))


# -- Triton solutions


@pytest.mark.parametrize(("name", "row"), ROWS_OF)
def test_triton_keeps_the_limits_on_every_row(name: str, row: str, interpreted: Ask) -> None:
    for distribution in Distribution:
        got = interpreted(name, "triton", frozen_row(name, row), distribution)
        assert miss(name, frozen_row(name, row), distribution, got) is None, distribution


@pytest.mark.parametrize("name", TASKS)
def test_triton_keeps_the_limits_on_every_odd_call(name: str, interpreted: Ask) -> None:
    for row in ODD_ROWS[name]:
        for distribution in (Distribution.NORMAL, Distribution.SPIKE_LAST, Distribution.DENORMAL):
            got = interpreted(name, "triton", row, distribution)
            assert miss(name, row, distribution, got) is None, (row.tensors, distribution)


@pytest.mark.parametrize("name", TASKS)
def test_triton_is_right_at_every_corner_of_its_search_space(name: str, interpreted: Ask) -> None:
    search = find_solution(TASKS[name], "triton").solution.search
    row = ODD_ROWS[name][4]
    corners = itertools.product(*((values[0], values[-1]) for values in search.values()))
    for corner in corners:
        config = dict(zip(search, corner, strict=True))
        got = interpreted(name, "triton", row, config=config)
        assert miss(name, row, Distribution.NORMAL, got) is None, config


# Where eps lies counts on a small mean square; a rounded gate shows on what every gate is like.
TOLD_BY = {"cuda/rms_norm": Distribution.TINY_VARIANCE, "cuda/scale_residual": Distribution.NORMAL}


@pytest.mark.parametrize(("name", "row"), ROWS_OF)
def test_the_wrong_one_passes_a_loose_check_and_breaks_the_limits(
    name: str, row: str, interpreted: Ask
) -> None:
    few = frozen_row(name, row)
    usual = interpreted(name, "wrong", few)
    right = truth(name, few, Distribution.NORMAL)
    assert torch.allclose(usual.double(), right, rtol=5e-2, atol=5e-2)
    told = TOLD_BY[name]
    assert miss(name, few, told, interpreted(name, "wrong", few, told)) is not None


# -- CUDA solutions


@pytest.mark.parametrize("name", TASKS)
def test_cuda_sources_define_the_functions_and_leave_the_stream_to_the_caller(name: str) -> None:
    task = TASKS[name]
    solution = find_solution(task, "cuda")
    assert list(solution.sources) == [solution.solution.entry]
    text = solution.sources[solution.solution.entry].decode()
    assert '#include "assay_cuda.h"' in text
    for function in task.task.functions:
        signature = rf'extern "C" int {function.name}\(\s*const assay_tensor\* [^)]*cudaStream_t '
        assert len(re.findall(signature, text)) == 1
    launches = re.findall(r"<<<(.*?)>>>", text, re.DOTALL)
    assert len(launches) == 1
    assert all(launch.endswith(", stream") for launch in launches)
    assert not re.search(r"[Ss]ynchronize|cudaMalloc|cudaMemcpy", text)


@needs_gpu
@pytest.mark.parametrize(("name", "row"), ROWS_OF)
def test_the_baseline_answers_on_a_gpu_as_on_a_cpu(name: str, row: str) -> None:
    few = frozen_row(name, row)
    function = TASKS[name].task.functions[0]
    tensors = [t.cuda() for t in make_tensors(function, few, Distribution.NORMAL)]
    module = module_of(find_solution(TASKS[name], "naive"), {})
    getattr(module, function.name)(*tensors, **few.options)
    assert miss(name, few, Distribution.NORMAL, tensors[-1].cpu()) is None
