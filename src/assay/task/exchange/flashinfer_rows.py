"""Rows of a FlashInfer-Bench definition: axes, arguments and frozen calls out of its workloads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange.flashinfer_files import TraceSet
from assay.task.exchange.flashinfer_form import ConstAxis
from assay.task.exchange.flashinfer_form import Definition
from assay.task.exchange.flashinfer_form import RandomInput
from assay.task.exchange.flashinfer_form import ScalarInput
from assay.task.exchange.flashinfer_form import StoredInput
from assay.task.exchange.flashinfer_form import Tensor
from assay.task.exchange.flashinfer_form import Workload
from assay.task.exchange.flashinfer_text import OURS
from assay.task.exchange.names import name as as_name
from assay.task.exchange.names import symbol
from assay.task.exchange.stored_tensors import stored_tensor

_OTHER_NAMES = {"float8_e4m3": "float8_e4m3fn", "fp16": "float16", "bf16": "bfloat16"}

Bounds = dict[str, tuple[int, int]]


@dataclass
class Rows:
    """All that a task says of a definition's calls."""

    axes: dict[str, dict[str, Any]] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, list[Any]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def rows_of(found: TraceSet, function: str) -> Rows:
    """UsageError names the workload, the input or the constraint that cannot be represented."""
    definition, where = found.definition, quote(found.path)
    _check_names(definition, where)
    rows = Rows()
    same = _axes(definition, found.workloads, rows, where)
    bounds: Bounds = {}
    stored: set[str] = set()
    for workload in found.workloads:
        rows.rows.append(_row(found, workload, function, rows, bounds, stored))
    for name, tensor in definition.inputs.items():
        if tensor.shape is not None:
            rows.inputs.append(_argument(name, tensor, "input", definition, same, bounds))
    for name, tensor in definition.outputs.items():
        rows.outputs.append(_argument(name, tensor, "output", definition, same, {}))
    for name in sorted(stored):
        rows.remarks.append(
            f"{name} is stored in files: their shapes and ranges are taken, their values are drawn"
        )
    return rows


def _check_names(definition: Definition, where: str) -> None:
    for name in (*definition.inputs, *definition.outputs, *definition.axes):
        if symbol(name) != name or name in {*OURS, "run"}:
            raise UsageError(f"{quote(name)} is no name that an argument may have", where=where)
    for name in definition.outputs:
        if name in definition.inputs:
            raise UsageError(f"{name} is an input and an output", where=where)
        if definition.outputs[name].shape is None:
            raise UsageError(f"output {name} is a scalar, and only tensors are judged", where=where)


def _axes(
    definition: Definition, workloads: tuple[Workload, ...], rows: Rows, where: str
) -> dict[str, str | int]:
    """What each axis of the definition is called in the task: a name, or a fixed extent."""
    same: dict[str, str | int] = {}
    for name, axis in definition.axes.items():
        same[name] = axis.value if isinstance(axis, ConstAxis) else name
    seen = {
        name: sorted({_extent(workload, name, where) for workload in workloads})
        for name, axis in definition.axes.items()
        if not isinstance(axis, ConstAxis)
    }
    for constraint in definition.constraints or ():
        for name, other in _bound_by(constraint, definition, seen, where):
            same[name] = other
    for name, extents in seen.items():
        if same[name] == name:
            rows.axes[name] = {"low": min(1, extents[0]), "high": extents[-1]}
    return same


def _extent(workload: Workload, axis: str, where: str) -> int:
    if axis not in workload.axes:
        raise UsageError(f"workload {quote(workload.uuid)} has no extent for {axis}", where=where)
    return workload.axes[axis]


def _bound_by(
    constraint: str, definition: Definition, seen: dict[str, list[int]], where: str
) -> Iterator[tuple[str, str | int]]:
    """Axes that a constraint takes the freedom from, and what they become."""
    cannot = UsageError(
        f"constraint {quote(constraint)} cannot be represented: axes are drawn independently",
        where=where,
        next_step="leave workloads that differ in these axes out, and import the others",
    )
    try:
        tree = ast.parse(constraint, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise cannot from None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names & set(definition.inputs):
        raise UsageError(
            f"constraint {quote(constraint)} cannot be represented: it is about values",
            where=where,
        )
    free = [name for name in seen if name in names]
    if isinstance(tree, ast.Compare) and _are_equal_names(tree) and len(free) == 2:
        yield free[1], free[0]
    elif any(len(seen[name]) > 1 for name in free):
        raise cannot
    else:
        yield from ((name, seen[name][0]) for name in free)


def _are_equal_names(tree: ast.Compare) -> bool:
    sides = (tree.left, *tree.comparators)
    return (
        len(sides) == 2
        and isinstance(tree.ops[0], ast.Eq)
        and all(isinstance(side, ast.Name) for side in sides)
    )


def _argument(
    name: str,
    tensor: Tensor,
    role: str,
    definition: Definition,
    same: dict[str, str | int],
    bounds: Bounds,
) -> dict[str, Any]:
    assert tensor.shape is not None
    argument: dict[str, Any] = {
        "name": name,
        "role": role,
        "shape": [same[axis] for axis in tensor.shape],
        "dtypes": [dtype_of(tensor.dtype, name, definition)],
    }
    if name in bounds:
        argument["integers"] = [bounds[name][0], bounds[name][1] + 1]
    return argument


def dtype_of(dtype: str, name: str, definition: Definition) -> str:
    known = _OTHER_NAMES.get(dtype, dtype)
    if known not in set(DType):
        raise UsageError(
            f"{name} is {quote(dtype)}, a dtype that no task has", where=quote(definition.name)
        )
    return known


def _row(
    found: TraceSet,
    workload: Workload,
    function: str,
    rows: Rows,
    bounds: Bounds,
    stored: set[str],
) -> dict[str, Any]:
    definition = found.definition
    tensors: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, tensor in definition.inputs.items():
        given = workload.inputs.get(name)
        what = f"workload {quote(workload.uuid)}: input {name}"
        if tensor.shape is None:
            options[name] = _scalar(given, what, found)
            known = rows.options.setdefault(name, [])
            if not any(type(v) is type(options[name]) and v == options[name] for v in known):
                known.append(options[name])
            continue
        tensors[name] = _spec(definition, workload, name, tensor)
        if isinstance(given, StoredInput):
            _look_into(found, given, what, tensors[name], bounds, name)
            stored.add(name)
        elif not isinstance(given, RandomInput | None):
            raise UsageError(f"{what} is a {given.type}, not a tensor", where=quote(found.path))
    for name, tensor in definition.outputs.items():
        tensors[name] = _spec(definition, workload, name, tensor)
    taken = [row["id"] for row in rows.rows]
    row_id = as_name(workload.uuid, taken)
    return {"id": row_id, "function": function, "tensors": tensors, "options": options}


def _scalar(given: object, what: str, found: TraceSet) -> bool | int | float:
    if isinstance(given, ScalarInput):
        return given.value
    raise UsageError(f"{what} has no value, and it is a scalar", where=quote(found.path))


def _spec(definition: Definition, workload: Workload, name: str, tensor: Tensor) -> dict[str, Any]:
    shape = []
    for axis in tensor.shape or ():
        known = definition.axes[axis]
        shape.append(known.value if isinstance(known, ConstAxis) else workload.axes[axis])
    return {"shape": shape, "dtype": dtype_of(tensor.dtype, name, definition)}


def _look_into(
    found: TraceSet,
    given: StoredInput,
    what: str,
    spec: dict[str, Any],
    bounds: Bounds,
    name: str,
) -> None:
    path = found.root / given.path
    if not path.is_file():
        raise UsageError(
            f"{what} is stored in {quote(given.path)}, which is not there",
            where=quote(found.root),
            next_step="put the file there, or leave the workload out",
        )
    tensor = stored_tensor(path, given.tensor_key)
    if list(tensor.shape) != spec["shape"] or tensor.dtype != spec["dtype"]:
        raise UsageError(
            f"{what} is {tensor.dtype} of shape {list(tensor.shape)} in its file, "
            f"and {spec['dtype']} of shape {spec['shape']} by its definition",
            where=quote(path),
        )
    if tensor.bounds is not None:
        low, high = bounds.get(name, tensor.bounds)
        bounds[name] = (min(low, tensor.bounds[0]), max(high, tensor.bounds[1]))
