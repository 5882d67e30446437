"""Binding: whether a frozen row is a call that its task's domain allows."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from assay.spec.domain import AxisRef
from assay.spec.domain import Layout
from assay.spec.errors import DocumentError
from assay.spec.forms import in_form
from assay.spec.forms import spread
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec
from assay.spec.workload import Workloads


def check_rows(task: Task, workloads: Workloads, where: str) -> None:
    """Raise DocumentError for the first row that is outside the task's domain."""
    for index, row in enumerate(workloads.rows):
        for problem in problems_of(task, row):
            raise DocumentError(
                f"row {row.id}: {problem}",
                where=f"{where}: key rows.{index}",
                next_step="mend the row, or widen the domain in task.toml",
            )


def problems_of(task: Task, row: Row) -> Iterator[str]:
    """Every way in which the row is not a call of the task."""
    function = task.function(row.function)
    if function is None:
        yield f"{row.function} is no function of this task"
        return
    yield from _name_problems(function, row)
    yield from _option_problems(function, row)
    extents: dict[str, tuple[int, ...]] = {}
    for argument in in_form(function, row).arguments:
        tensor = row.tensors.get(argument.name)
        if tensor is not None:
            yield from _tensor_problems(task, argument, tensor, row)
            yield from _bind_axes(task, argument, tensor, extents)
    yield from _divisor_problems(task, row, extents)


def _name_problems(function: Function, row: Row) -> Iterator[str]:
    known = {argument.name for argument in function.arguments}
    for name in row.tensors:
        if name not in known:
            yield f"{name} is no argument of {function.name}"
    for argument in function.arguments:
        if row.tensors.get(argument.name) is None and not argument.optional:
            yield f"argument {argument.name} is missing"
        yield from _company_problems(argument, row)


def _company_problems(argument: Argument, row: Row) -> Iterator[str]:
    passed, other = row.tensors.get(argument.name) is not None, argument.passed_with
    if argument.passed_if is not None:
        option, value = argument.passed_if
        if row.options.get(option) != value:
            if passed:
                yield f"{argument.name} is only passed if {option}={value}"
            return
    if other is not None and passed != (row.tensors.get(other) is not None):
        yield f"{argument.name} and {other} are passed together or not at all"


def _option_problems(function: Function, row: Row) -> Iterator[str]:
    known = {option.name: option for option in function.options}
    for name, value in row.options.items():
        if name not in known:
            yield f"{name} is no option of {function.name}"
        elif not known[name].holds(value):
            yield f"option {name}={value} is outside its range"
    for name in known:
        if name not in row.options:
            yield f"option {name} is missing"


def _tensor_problems(task: Task, argument: Argument, tensor: TensorSpec, row: Row) -> Iterator[str]:
    yield from _dtype_problems(argument, tensor, row)
    if not lies_as(tensor, layouts_of(task, argument)):
        layout, whose = layout_of(tensor), argument.name if argument.layouts else "the domain"
        yield f"{argument.name} is {layout}, a layout that {whose} does not list"


def _dtype_problems(argument: Argument, tensor: TensorSpec, row: Row) -> Iterator[str]:
    if argument.dtypes is not None and tensor.dtype in argument.dtypes:
        return
    if argument.like is None:
        yield f"{argument.name} is {tensor.dtype}, which the task does not list"
        return
    other = row.tensors.get(argument.like)
    if other is not None and other.dtype is not tensor.dtype:
        yield f"{argument.name} is {tensor.dtype} but {argument.like} is {other.dtype}"


def layouts_of(task: Task, argument: Argument) -> tuple[Layout, ...]:
    return task.domain.layouts if argument.layouts is None else argument.layouts


def lies_as(tensor: TensorSpec, layouts: tuple[Layout, ...]) -> bool:
    """Whether the tensor lies in one of these ways; a contiguous one always does."""
    layout = layout_of(tensor)
    if layout is Layout.STRIDED and Layout.CHUNK in layouts and _is_chunk(tensor):
        return True
    return layout is Layout.CONTIGUOUS or layout in layouts


def _is_chunk(tensor: TensorSpec) -> bool:
    """Rows as they are, and the axes before them strided by the same number of whole rows."""
    assert tensor.strides is not None
    wider = {
        step / plain
        for n, step, plain in zip(
            tensor.shape[:-1], tensor.strides, tensor.contiguous_strides, strict=False
        )
        if n > 1
    }
    unit = tensor.shape[-1] == 1 or tensor.strides[-1] == 1
    return unit and len(wider) == 1 and min(wider).is_integer()


def layout_of(tensor: TensorSpec) -> Layout:
    """The least plain word that fits: misaligned, broadcast, strided (a chunk too), contiguous."""
    if tensor.offset:
        return Layout.MISALIGNED
    steps = tensor.strides
    if steps is None:
        return Layout.CONTIGUOUS
    # The stride of an axis of one element is never used, so it does not count.
    counted = [
        (n, step, plain)
        for n, step, plain in zip(tensor.shape, steps, tensor.contiguous_strides, strict=True)
        if n > 1
    ]
    if any(step == 0 for _, step, _ in counted):
        return Layout.BROADCAST
    if any(step != plain for _, step, plain in counted):
        return Layout.STRIDED
    return Layout.CONTIGUOUS


def _bind_axes(
    task: Task, argument: Argument, tensor: TensorSpec, extents: dict[str, tuple[int, ...]]
) -> Iterator[str]:
    if argument.forms:
        yield f"{argument.name} is {list(tensor.shape)}, which is none of its forms"
        return
    widths = spread(argument.shape, len(tensor.shape))
    if widths is None:
        yield f"{argument.name} has {len(tensor.shape)} axes"
        return
    position = 0
    for axis, width in widths:
        part = tensor.shape[position : position + width]
        position += width
        yield from _axis_problems(task, argument.name, axis, part, extents)


def _axis_problems(
    task: Task,
    argument: str,
    axis: AxisRef,
    part: tuple[int, ...],
    extents: dict[str, tuple[int, ...]],
) -> Iterator[str]:
    if isinstance(axis, int):
        if part != (axis,):
            yield f"{argument} has extent {part[0]} where {axis} is fixed"
        return
    name = axis.removeprefix("*")
    if axis.startswith("*") and not task.domain.rank[0] <= len(part) <= task.domain.rank[1]:
        yield f"{argument} has {len(part)} axes for {axis}"
    for extent in part:
        if not task.domain.axes[name].holds(extent):
            yield f"{argument} has {name}={extent}, outside the domain"
    if extents.setdefault(name, part) != part:
        yield f"{argument} has {name}={list(part)} where another argument has {list(extents[name])}"


def _divisor_problems(
    task: Task, row: Row, extents: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    for divisor, multiple in task.domain.divides:
        by = _extent(divisor, row.options, extents)
        of = _extent(multiple, row.options, extents)
        if by is not None and of is not None and (by == 0 or of % by):
            yield f"{divisor}={by} does not divide {multiple}={of}"


def _extent(
    name: str, options: Mapping[str, Scalar], extents: Mapping[str, tuple[int, ...]]
) -> int | None:
    value = options.get(name)
    if isinstance(value, int):
        return value
    bound = extents.get(name)
    return bound[0] if bound else None
