"""Calls of the diffusion tasks on a CPU: what the reference, a mutant or a baseline makes of a row.

The judge does this in processes of its own; here all is in one, on rows that are small enough.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import torch

from assay.judge.inputs import make_inputs
from assay.judge.limits import check
from assay.judge.mutants import Mutant
from assay.judge.mutants import mutants
from assay.spec.distribution import Distribution
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from assay.task import LoadedSolution
from assay.task import TaskFolder
from tests.task.calling import torch_dtype

Contents = Mapping[str, torch.Tensor | None]
Outputs = dict[str, torch.Tensor]


def function_of(task: TaskFolder, row: Row) -> Function:
    function = task.task.function(row.function)
    assert function is not None
    return function


def contents_of(task: TaskFolder, row: Row, distribution: Distribution) -> Contents:
    """Inputs that depend on row and distribution alone, laid out as the row has them."""
    seed = zlib.crc32(f"{row.id} {row.function} {distribution}".encode())
    function = function_of(task, row)
    made = make_inputs(function, row, distribution, torch.Generator().manual_seed(seed))
    return {
        name: None if tensor is None else laid_out(_spec(row, name), tensor)
        for name, tensor in made.items()
    }


def laid_out(spec: TensorSpec, content: torch.Tensor | None) -> torch.Tensor:
    """A tensor as the row has it in memory; of an axis that is repeated the first slice counts."""
    dtype = torch_dtype(spec.dtype)
    storage = torch.zeros(spec.storage_elements + 64, dtype=dtype)
    steps = spec.strides or spec.contiguous_strides
    made = torch.as_strided(storage, spec.shape, steps, spec.offset)
    if content is not None:
        once = tuple(slice(0, 1) if step == 0 else slice(None) for step in steps)
        made[once] = content[once]
    return made


def _spec(row: Row, name: str) -> TensorSpec:
    spec = row.tensors[name]
    assert spec is not None
    return spec


def truth(task: TaskFolder, row: Row, contents: Contents, source: str | None = None) -> Outputs:
    """What the reference, or another source in its place, says in float64."""
    function = function_of(task, row)
    namespace: dict[str, Any] = {}
    exec(compile(source or task.reference, "reference", "exec"), namespace)
    given = [_widened(contents[a.name]) for a in function.arguments if a.role is not Role.OUTPUT]
    made = namespace[function.name](*given, **row.options)
    returned = made if isinstance(made, tuple) else (made,)
    names = [a.name for a in function.arguments if a.role is not Role.INPUT]
    return dict(zip(names, returned, strict=True))


def _widened(tensor: torch.Tensor | None) -> torch.Tensor | None:
    if tensor is None:
        return None
    return tensor.to(torch.float64 if tensor.dtype.is_floating_point else torch.int64)


def answer(task: TaskFolder, solution: LoadedSolution, row: Row, contents: Contents) -> Outputs:
    """What a solution makes of them; inputs must be left as they are."""
    function = function_of(task, row)
    tensors: dict[str, torch.Tensor | None] = {}
    for argument in function.arguments:
        given = contents.get(argument.name)
        if argument.role is Role.OUTPUT:
            tensors[argument.name] = laid_out(_spec(row, argument.name), None)
        elif argument.role is Role.INOUT and given is not None:
            tensors[argument.name] = laid_out(_spec(row, argument.name), given)
        else:
            tensors[argument.name] = given
    inputs = [a.name for a in function.arguments if a.role is Role.INPUT]
    kept = {n: t.clone() for n in inputs if (t := tensors[n]) is not None}
    with torch.no_grad():
        _module(solution)[function.name](*tensors.values(), **row.options)
    for name, was in kept.items():
        assert torch.equal(_present(tensors[name]), was), name
    written = [a.name for a in function.arguments if a.role is not Role.INPUT]
    return {name: _present(tensors[name]) for name in written}


def _present(tensor: torch.Tensor | None) -> torch.Tensor:
    assert tensor is not None
    return tensor


_modules: dict[str, dict[str, Any]] = {}


def _module(solution: LoadedSolution) -> dict[str, Any]:
    if solution.content_hash not in _modules:
        namespace: dict[str, Any] = {"__name__": "solution"}
        exec(solution.sources[solution.solution.entry], namespace)
        _modules[solution.content_hash] = namespace
    return _modules[solution.content_hash]


# -- mutants


def mutants_of(task: TaskFolder, row: Row) -> list[Mutant]:
    """Those that do something on the row: what they need is passed."""
    found = mutants(task.reference, function_of(task, row))
    return [m for m in found if all(row.tensors.get(name) is not None for name in m.needs)]


def survivors(task: TaskFolder, baseline: LoadedSolution, row: Row) -> Iterator[str]:
    """The mutants that no distribution tells from the reference on this row."""
    known: dict[Distribution, tuple[Contents, Outputs, Outputs]] = {}
    for distribution in Distribution:
        contents = contents_of(task, row, distribution)
        right = truth(task, row, contents)
        known[distribution] = contents, right, answer(task, baseline, row, contents)
    for mutant in mutants_of(task, row):
        if not any(_tells(task, row, mutant, *known[d]) for d in Distribution):
            yield mutant.name


def _tells(
    task: TaskFolder,
    row: Row,
    mutant: Mutant,
    contents: Contents,
    right: Outputs,
    baseline: Outputs,
) -> bool:
    try:
        mutated = truth(task, row, contents, mutant.source)
    except (RuntimeError, ValueError, IndexError, AssertionError, TypeError):
        return True
    for name, due in right.items():
        if mutated[name].shape != due.shape:
            return True
        got = mutated[name].to(baseline[name].dtype)
        if check(due, baseline[name], got, task.task.tolerance) is not None:
            return True
    return False


# -- small rows


def cut(task: TaskFolder, row: Row, most: Mapping[str, int]) -> Row:
    """The row with its named axes no longer than given, its axes in the same order in memory."""
    tensors: dict[str, TensorSpec | None] = {}
    for argument in function_of(task, row).arguments:
        spec = row.tensors[argument.name]
        if spec is None:
            tensors[argument.name] = None
            continue
        starred = len(spec.shape) - len(argument.shape) + 1
        names = [
            str(axis).removeprefix("*")
            for axis in argument.shape
            for _ in range(starred if str(axis).startswith("*") else 1)
        ]
        shape = tuple(
            min(extent, most.get(name, extent))
            for extent, name in zip(spec.shape, names, strict=True)
        )
        strides = None if spec.strides is None else _dense(shape, spec.strides)
        tensors[argument.name] = TensorSpec(shape=shape, dtype=spec.dtype, strides=strides)
    return row.model_copy(update={"tensors": tensors})


def _dense(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides without gaps whose axes follow each other as those of `order` do."""
    steps, step = [0] * len(shape), 1
    for axis in sorted(range(len(shape)), key=lambda axis: order[axis]):
        steps[axis] = step
        step *= shape[axis]
    return tuple(steps)
