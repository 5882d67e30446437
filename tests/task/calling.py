"""Calls solutions and references the plain way: no sandbox, no clock, only values."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import assay
from assay.spec.contract import Convention
from assay.spec.dtype import DType
from assay.spec.solution import Language
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec
from assay.task import LoadedSolution
from assay.task import TaskFolder

INCLUDE = Path(assay.__file__).parent / "include"
_CODES = {dtype: code for code, dtype in enumerate(DType)}

Tensors = dict[str, torch.Tensor | None]
Fill = Callable[[Argument, tuple[int, ...]], torch.Tensor]


class CTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
    )


def torch_dtype(dtype: DType) -> torch.dtype:
    found = getattr(torch, dtype.value)
    assert isinstance(found, torch.dtype)
    return found


def normal(argument: Argument, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def make_tensors(function: Function, row: Row, fill: Fill = normal) -> Tensors:
    """The row's tensors, laid out as it says; outputs hold NaN, so what is not written shows."""
    tensors: Tensors = {}
    for argument in function.arguments:
        spec = row.tensors[argument.name]
        tensors[argument.name] = None if spec is None else _make(argument, spec, fill)
    return tensors


def _make(argument: Argument, spec: TensorSpec, fill: Fill) -> torch.Tensor:
    storage = torch.full((max(spec.storage_elements, 1),), torch.nan, dtype=torch_dtype(spec.dtype))
    steps = spec.strides or spec.contiguous_strides
    tensor = torch.as_strided(storage, spec.shape, steps, spec.offset)
    if argument.role is not Role.OUTPUT:
        written = tuple(slice(0, 1) if step == 0 else slice(None) for step in steps)
        shape = tuple(1 if step == 0 else n for n, step in zip(spec.shape, steps, strict=True))
        tensor[written] = fill(argument, shape).to(tensor.dtype)
    return tensor


def expected(task: TaskFolder, function: Function, tensors: Tensors, row: Row) -> torch.Tensor:
    """What the reference says, in float64."""
    module = _module(task.reference)
    inputs = [
        None if tensor is None else tensor.to(torch.float64)
        for argument in function.arguments
        if argument.role is not Role.OUTPUT
        for tensor in [tensors[argument.name]]
    ]
    answer = module[function.name](*inputs, **row.options)
    assert isinstance(answer, torch.Tensor)
    assert answer.dtype == torch.float64
    return answer


def call(solution: LoadedSolution, function: Function, tensors: Tensors, row: Row) -> torch.Tensor:
    """The one output of a call, written or returned as the solution's convention says."""
    output = next(a.name for a in function.arguments if a.role is Role.OUTPUT)
    if solution.solution.language is Language.CPP:
        assert call_cpp(solution, function, tensors, row.options) == 0
    else:
        returned = _call_python(solution, function, tensors, row.options)
        if solution.solution.convention is Convention.RETURNS:
            assert isinstance(returned, torch.Tensor)
            return returned
    written = tensors[output]
    assert written is not None
    return written


def _call_python(
    solution: LoadedSolution, function: Function, tensors: Tensors, options: dict[str, Scalar]
) -> Any:
    described = solution.solution
    module = _module(solution.sources[described.entry].decode())
    returns = described.convention is Convention.RETURNS
    arguments: list[Any] = [
        tensors[argument.name]
        for argument in function.arguments
        if not (returns and argument.role is Role.OUTPUT)
    ]
    if described.config:
        module["configure"](**described.config)
    if described.prepare is not None:
        constants = {a.name: tensors[a.name] for a in function.arguments if a.constant}
        arguments.insert(0, module[described.prepare](function.name, constants, options))
    with torch.no_grad():
        return module[function.name](*arguments, **options)


@functools.cache
def _module(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "source"}
    exec(compile(source, "source", "exec"), namespace)
    return namespace


def call_cpp(
    solution: LoadedSolution, function: Function, tensors: Tensors, options: dict[str, Scalar]
) -> int:
    library = _library(solution)
    described = (CTensor * len(function.arguments))(
        *(_described(tensors[argument.name]) for argument in function.arguments)
    )
    values = [float(options[option.name]) for option in function.options]
    numbers = (ctypes.c_double * max(len(values), 1))(*values)
    state = None
    if solution.solution.prepare is not None:
        prepare = getattr(library, solution.solution.prepare)
        prepare.restype = ctypes.c_void_p
        state = ctypes.c_void_p(prepare(described, numbers))
    status = getattr(library, function.name)(described, numbers, state)
    assert isinstance(status, int)
    return status


def _described(tensor: torch.Tensor | None) -> CTensor:
    eight = ctypes.c_int64 * 8
    if tensor is None:
        return CTensor(None, 0, 0, eight(), eight())
    code = _CODES[DType(str(tensor.dtype).removeprefix("torch."))]
    # An empty tensor's address is null in torch, but null means "not passed" here.
    return CTensor(
        tensor.data_ptr() or ctypes.addressof(_NOTHING),
        code,
        tensor.dim(),
        eight(*tensor.shape),
        eight(*tensor.stride()),
    )


_NOTHING = ctypes.c_int64()
_libraries: dict[str, ctypes.CDLL] = {}


def _library(solution: LoadedSolution) -> ctypes.CDLL:
    if solution.content_hash not in _libraries:
        with built(solution) as path:
            _libraries[solution.content_hash] = ctypes.CDLL(str(path))
    return _libraries[solution.content_hash]


@contextmanager
def built(solution: LoadedSolution) -> Iterator[Path]:
    """The shared library of a C++ solution, in a folder that is gone afterwards."""
    described = solution.solution
    with tempfile.TemporaryDirectory() as folder:
        for name, data in solution.sources.items():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        library = Path(folder) / "solution.so"
        subprocess.run(
            [
                *("g++", "-O3", "-march=native", "-std=c++17", "-fPIC", "-shared"),
                *("-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"),
                *described.flags,
                *(f"-D{name}={value}" for name, value in described.config.items()),
                *("-o", str(library), str(Path(folder) / described.entry)),
            ],
            check=True,
        )
        yield library
