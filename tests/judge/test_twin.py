from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.device.runners import Target
from assay.judge.build import compile_library
from assay.judge.toolchain import NVCC
from assay.judge.toolchain import read_resources
from assay.judge.twin import bytes_moved
from assay.judge.twin import twin_program
from assay.runner.tensors import CTensor
from assay.spec.dtype import DType
from assay.spec.errors import UnavailableError
from assay.spec.solution import Language
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from tests.gpu import needs_gpu
from tests.gpu import needs_nvcc
from tests.judge.twins import ABSENT
from tests.judge.twins import LAYOUTS
from tests.judge.twins import POISON
from tests.judge.twins import UINT8
from tests.judge.twins import Place
from tests.judge.twins import load
from tests.judge.twins import norm_task

CPU = Target("cpu")


def tensor(*shape: int, dtype: DType = DType.UINT8, **more: Any) -> TensorSpec:
    return TensorSpec(shape=shape, dtype=dtype, **more)


# -- the bytes


def moved(**tensors: TensorSpec | None) -> tuple[int, int]:
    every = {name: tensors.get(name) for name in ("x", "weight", "residual", "y")}
    return bytes_moved(norm_task().functions[0], Row(id="r", function="norm", tensors=every))


def test_inputs_are_read_outputs_written_and_what_is_in_place_both() -> None:
    x, weight = tensor(10, 20, dtype=DType.BFLOAT16), tensor(20, dtype=DType.FLOAT32)
    assert moved(x=x, weight=weight, y=tensor(7)) == (400 + 80, 7)
    assert moved(x=x, residual=tensor(50), y=tensor(7)) == (400 + 50, 50 + 7)


def test_a_tensor_that_is_not_passed_counts_nothing() -> None:
    assert moved(x=tensor(10), weight=None, y=tensor(10)) == (10, 10)
    assert bytes_moved(
        norm_task().functions[0], Row(id="r", function="norm", tensors={"x": tensor(3)})
    ) == (3, 0)


@pytest.mark.parametrize(("shape", "strides", "apart"), LAYOUTS)
def test_a_broadcast_axis_counts_once_and_so_do_overlaps(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, apart: int
) -> None:
    x = tensor(*shape, strides=strides, offset=5, dtype=DType.FLOAT32)
    assert moved(x=x) == (4 * apart, 0)


# -- the programs


def test_a_cpu_twin_writes_all_outputs_and_no_input(tmp_path: Path) -> None:
    made = twin_program(norm_task(), CPU)
    assert (made.entry, made.solution.language) == ("library.so", Language.CPP)
    library = load(made.files["library.so"], tmp_path)
    for sizes in [(100, 30, 50, 40), (100, 30, 50, 200), (33, 0, 31, 0), (0, 7, 9, 11)]:
        x, weight, residual, y = (Place(size, 1, k) for k, size in enumerate(sizes))
        y.bytes[:] = POISON
        tensors = (CTensor * 4)(x.c, weight.c, residual.c, y.c)
        assert library.norm(tensors, None, None) == 0
        assert (x.bytes == 0).all()
        assert (weight.bytes == 1).all()
        assert (residual.bytes == 0xFF ^ 2).all()
        assert not (y.bytes == POISON).any()
        assert all(place.stayed_inside() for place in (x, weight, residual, y))
        # Without x: what is left is still read, and y still written.
        assert library.norm((CTensor * 4)(ABSENT, weight.c, residual.c, y.c), None, None) == 0


def test_a_device_without_a_toolchain_has_no_twin() -> None:
    with pytest.raises(UnavailableError, match="there is no copy twin for a rocm device"):
        twin_program(norm_task(), Target("rocm"))


@needs_nvcc
def test_a_cuda_twin_is_a_library_with_the_functions_by_name(tmp_path: Path) -> None:
    made = twin_program(norm_task(), Target("cuda", "90a"))
    assert (made.entry, made.solution.language) == ("library.so", Language.CUDA)
    library = load(made.files["library.so"], tmp_path)
    assert library.norm


@needs_nvcc
def test_the_cuda_twin_keeps_all_it_holds_in_registers() -> None:
    source = b'#include "twin.cuh"\nASSAY_TWIN(norm, 4, 7ull, 12ull)\n'
    flags = NVCC.base_flags(Target("cuda", "90a"))
    taken = read_resources(compile_library({"t.cu": source}, "t.cu", flags, NVCC).log)
    assert len(taken) == 3
    # 32 registers let 2048 threads live on a multiprocessor.
    assert all(kernel.registers <= 32 and kernel.stack_bytes == 0 for kernel in taken.values())


@pytest.fixture
def call_norm(tmp_path: Path) -> Callable[..., int]:
    major, minor = torch.cuda.get_device_capability()
    made = twin_program(norm_task(), Target("cuda", f"{major}{minor}{'a' if major >= 9 else ''}"))
    library = load(made.files["library.so"], tmp_path)

    def call(*tensors: torch.Tensor) -> int:
        described = (CTensor * 4)(
            *(CTensor(t.data_ptr(), UINT8, 1, (t.numel(),), (1,)) for t in tensors)
        )
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status: int = library.norm(described, None, None, stream)
        torch.cuda.synchronize()
        return status

    return call


@needs_gpu
def test_the_cuda_twin_writes_all_outputs_and_nothing_else(call_norm: Callable[..., int]) -> None:
    for size in (1, 40, 4097, 1 << 20, (64 << 20) + 5):
        memory = torch.full((4, size + 256), POISON, dtype=torch.uint8, device="cuda")
        x, weight, residual, y = (m[64 + k : 64 + k + size] for k, m in enumerate(memory))
        for read in (x, weight, residual):
            read.zero_()
        assert call_norm(x, weight, residual, y) == 0
        assert not (y == POISON).any()
        assert not x.any()
        assert not weight.any()
        for k, m in enumerate(memory):
            assert (m[: 64 + k] == POISON).all()
            assert (m[64 + k + size :] == POISON).all()
