"""The tasks that ship: right solutions are right everywhere, wrong ones only look right."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from assay.spec.binding import problems_of
from assay.spec.dtype import DType
from assay.spec.task import Argument
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from assay.task import LoadedSolution
from assay.task import TaskFolder
from assay.task import find_solution
from assay.task import load_task
from assay.task.address import SHIPPED
from assay.task.address import names_under
from assay.task.freeze import FreezeStatus
from tests.task.calling import Fill
from tests.task.calling import built
from tests.task.calling import call
from tests.task.calling import expected
from tests.task.calling import make_tensors
from tests.task.calling import normal

TASKS = {name: load_task(name) for name in names_under(SHIPPED) if name.startswith("cpu/")}
WRONG = "wrong"

Specs = dict[str, TensorSpec | None]


def right_solutions() -> Iterator[tuple[str, str]]:
    for name, task in TASKS.items():
        for baseline in task.task.baselines:
            yield name, baseline.name
        yield from ((name, solution) for solution in task.solution_names if solution != WRONG)


def spec(*shape: int, **more: Any) -> TensorSpec:
    return TensorSpec(shape=shape, dtype=more.pop("dtype", DType.FLOAT32), **more)


def rms_norm_row(x: TensorSpec, w: TensorSpec | None = None, y: TensorSpec | None = None) -> Row:
    gain = w or TensorSpec(shape=x.shape[1:], dtype=x.dtype)
    tensors: Specs = {"x": x, "w": gain, "y": y or TensorSpec(shape=x.shape, dtype=x.dtype)}
    return Row(id="odd", function="rms_norm", tensors=tensors, options={"eps": 1e-5})


def group_norm_row(x: TensorSpec, groups: int) -> Row:
    per_channel = spec(x.shape[1])
    return Row(
        id="odd",
        function="group_norm_silu",
        tensors={"x": x, "weight": per_channel, "bias": per_channel, "y": spec(*x.shape)},
        options={"num_groups": groups, "eps": 1e-5},
    )


def rotary_row(x: TensorSpec, cos: TensorSpec | None = None) -> Row:
    angles = cos or spec(x.shape[0], x.shape[2])
    tensors: Specs = {"x": x, "cos": angles, "sin": angles, "y": spec(*x.shape)}
    return Row(id="odd", function="rotary_embedding", tensors=tensors)


def modulated_row(x: TensorSpec, scale: TensorSpec, y: TensorSpec | None = None) -> Row:
    tensors: Specs = {"x": x, "scale": scale, "shift": spec(*x.shape), "y": y or spec(*x.shape)}
    return Row(id="odd", function="layer_norm_scale_shift", tensors=tensors, options={"eps": 1e-8})


ODD_ROWS: dict[str, list[Row]] = {
    "cpu/rms_norm": [
        rms_norm_row(spec(0, 5)),
        rms_norm_row(spec(3, 1)),
        rms_norm_row(spec(2, 17), y=spec(2, 17, strides=(40, 2))),
        rms_norm_row(spec(5, 31, strides=(33, 1), offset=1), w=spec(31, strides=(3,))),
        rms_norm_row(spec(4, 130, strides=(1, 4))),
        rms_norm_row(spec(3, 77, dtype=DType.BFLOAT16, offset=3)),
        rms_norm_row(spec(7, 9, dtype=DType.BFLOAT16, strides=(27, 3))),
    ],
    "cpu/group_norm_silu": [
        group_norm_row(spec(0, 4), 2),
        group_norm_row(spec(2, 8), 4),
        group_norm_row(spec(2, 6, 5, offset=3), 2),
        group_norm_row(spec(1, 32, 3, 7), 32),
        group_norm_row(spec(1, 3, 1, 1, 1), 1),
        group_norm_row(spec(2, 12, 3, 5, 7), 4),
    ],
    "cpu/rotary_embedding": [
        rotary_row(spec(0, 2, 3, 2)),
        rotary_row(spec(3, 1, 1, 2)),
        rotary_row(spec(2, 3, 7, 2, offset=1)),
        rotary_row(spec(2, 3, 5, 2, strides=(40, 12, 1, 6))),
        rotary_row(spec(4, 2, 9, 2), cos=spec(4, 9, strides=(0, 1))),
        rotary_row(spec(3, 2, 4, 2), cos=spec(3, 4, strides=(4, 0))),
    ],
    "cpu/layer_norm_scale_shift": [
        modulated_row(spec(0, 5), spec(0, 5)),
        modulated_row(spec(3, 1), spec(3, 1)),
        modulated_row(spec(5, 33, offset=1), spec(5, 33, strides=(0, 1))),
        modulated_row(spec(4, 19), spec(4, 19, strides=(1, 0)), y=spec(4, 19, strides=(1, 4))),
        modulated_row(spec(2, 45, strides=(100, 2)), spec(2, 45)),
    ],
}


def wide(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return normal(argument, shape) * torch.exp2(torch.randint(-20, 21, shape).double())


def offset(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return 1000 + normal(argument, shape) if argument.name == "x" else normal(argument, shape)


def tiny_variance(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return normal(argument, shape) * (1e-3 if argument.name == "x" else 1)


def spike_last(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    values = normal(argument, shape)
    values[..., -1:] = 1e6
    return values


def zeros(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def denormal(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return normal(argument, shape) * (1e-40 if argument.name == "x" else 1)


FILLS = {
    fill.__name__: fill
    for fill in (normal, wide, offset, tiny_variance, spike_last, zeros, denormal)
}


def error_of(task: TaskFolder, solution: LoadedSolution, row: Row, fill: Fill) -> torch.Tensor:
    """Absolute errors against the reference, on inputs that depend on row and fill alone."""
    torch.manual_seed(zlib.crc32(f"{row.id} {fill.__name__}".encode()))
    function = task.task.function(row.function)
    assert function is not None
    tensors = make_tensors(function, row, fill)
    truth = expected(task, function, tensors, row)
    answer = call(solution, function, tensors, row)
    assert answer.shape == truth.shape
    return (answer.double() - truth).abs()


def last_place(task: TaskFolder, row: Row, fill: Fill) -> float:
    """One unit in the last place of the largest value that the reference gives."""
    torch.manual_seed(zlib.crc32(f"{row.id} {fill.__name__}".encode()))
    function = task.task.function(row.function)
    assert function is not None
    truth = expected(task, function, make_tensors(function, row, fill), row)
    largest = truth.abs().max().item() if truth.numel() else 0.0
    digits = 8 if row.tensors["x"].dtype is DType.BFLOAT16 else 24  # type: ignore[union-attr]
    return math.ldexp(1.0, math.frexp(largest)[1] - digits)


def test_four_cpu_tasks_ship_under_their_addresses() -> None:
    assert list(TASKS) == [
        "cpu/group_norm_silu",
        "cpu/layer_norm_scale_shift",
        "cpu/rms_norm",
        "cpu/rotary_embedding",
    ]
    assert [task.task.name for task in TASKS.values()] == list(TASKS)
    for task in TASKS.values():
        assert {"tie", "win", WRONG} <= set(task.solution_names)


@pytest.mark.parametrize("name", TASKS)
def test_a_row_is_small_enough_for_a_plain_machine(name: str) -> None:
    for row in TASKS[name].workloads.rows:
        specs = [tensor for tensor in row.tensors.values() if tensor is not None]
        assert sum(t.storage_elements * t.dtype.itemsize for t in specs) <= 4e6


@pytest.mark.parametrize("name", TASKS)
def test_the_odd_rows_are_calls_that_the_domain_promises(name: str) -> None:
    for row in ODD_ROWS[name]:
        assert list(problems_of(TASKS[name].task, row)) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_shipped_task_is_frozen_as_it_is(name: str) -> None:
    assert TASKS[name].freeze_state.status is FreezeStatus.FROZEN


@pytest.mark.parametrize(("name", "solution"), list(right_solutions()))
def test_a_right_solution_is_right_on_every_odd_call(name: str, solution: str) -> None:
    task = TASKS[name]
    loaded = find_solution(task, solution)
    for row in ODD_ROWS[name]:
        for fill in (normal, tiny_variance):
            error = error_of(task, loaded, row, fill)
            assert not error.isnan().any()
            if error.numel():
                assert error.max().item() <= 4 * last_place(task, row, fill)


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("name", TASKS)
def test_right_solutions_keep_the_default_limits(name: str, fill: str) -> None:
    """Largest error at most twice the baseline's or one last place, RMS at most 1.25 times."""
    task = TASKS[name]
    baseline = find_solution(task, task.task.primary_baseline.name)
    for row in task.workloads.rows[:2]:
        allowed = error_of(task, baseline, row, FILLS[fill])
        for solution in ("win", "tie"):
            error = error_of(task, find_solution(task, solution), row, FILLS[fill])
            ulp = last_place(task, row, FILLS[fill])
            assert error.max() <= max(2 * allowed.max().item(), ulp), (row.id, solution)
            rms = error.square().mean().sqrt().item()
            assert rms <= 1.25 * allowed.square().mean().sqrt().item(), (row.id, solution)


@pytest.mark.parametrize("name", TASKS)
def test_the_wrong_solution_passes_a_loose_check_on_usual_inputs(name: str) -> None:
    task = TASKS[name]
    wrong = find_solution(task, WRONG)
    for row in task.workloads.rows:
        function = task.task.function(row.function)
        assert function is not None
        tensors = make_tensors(function, row)
        truth = expected(task, function, tensors, row)
        answer = call(wrong, function, tensors, row).double()
        assert torch.allclose(answer, truth, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("name", TASKS)
def test_the_wrong_solution_breaks_the_default_limits_on_every_row(name: str) -> None:
    task = TASKS[name]
    baseline = find_solution(task, task.task.primary_baseline.name)
    wrong = find_solution(task, WRONG)
    for row in task.workloads.rows:
        caught = []
        for fill_name, fill in FILLS.items():
            allowed = error_of(task, baseline, row, fill).max().item()
            error = error_of(task, wrong, row, fill).max().item()
            if not error <= max(2 * allowed, last_place(task, row, fill)):
                caught.append(fill_name)
        assert caught, row.id


@pytest.mark.parametrize("name", TASKS)
def test_win_and_wrong_are_written_in_one_language(name: str) -> None:
    task = TASKS[name]
    languages = {find_solution(task, s).solution.language for s in ("win", "tie", WRONG)}
    assert len(languages) == 1


@pytest.mark.parametrize("name", TASKS)
def test_the_tie_is_other_source_and_the_same_machine_code(name: str) -> None:
    task = TASKS[name]
    baseline = find_solution(task, task.task.primary_baseline.name)
    tie = find_solution(task, "tie")
    assert baseline.sources != tie.sources
    with built(baseline) as first, built(tie) as second:
        assert code_of(first.read_bytes()) == code_of(second.read_bytes())


def code_of(library: bytes) -> bytes:
    """The .text section of a 64-bit ELF file."""

    def number(start: int, size: int) -> int:
        return int.from_bytes(library[start : start + size], "little")

    table, entry, count, names = number(40, 8), number(58, 2), number(60, 2), number(62, 2)
    sections = [table + index * entry for index in range(count)]
    strings = number(sections[names] + 24, 8)
    for section in sections:
        if library[strings + number(section, 4) :].startswith(b".text\0"):
            start, size = number(section + 24, 8), number(section + 32, 8)
            return library[start : start + size]
    raise AssertionError("no .text section")
