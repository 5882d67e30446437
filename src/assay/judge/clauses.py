"""Clauses: which part of its call contract is broken when a baseline takes another path.

What the runner says of its own settings stands here beside what the row says of its tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Sequence

from assay.device.runners.account import CallState
from assay.spec.contract import StreamRule
from assay.spec.domain import Layout
from assay.spec.lock import BaselineLock
from assay.spec.lock import LockedEntry
from assay.spec.task import Function
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

_ALIGNED_BYTES = 16
"""What the widest loads of one thread ask of an address."""
_USUAL_DTYPE = "float32"


def explanation(lock: BaselineLock, function: Function, row: Row, state: CallState | None) -> str:
    """The clauses that are broken, or that none is known to be."""
    found = [*_of_settings(lock, state), *_of_tensors(lock, function, row)]
    if found:
        return f"its contract is broken: {', and '.join(found)}"
    if state is None:
        return "of its contract dtype and layout hold, and of the rest nothing is known"
    return "every clause of its contract that is known holds"


def _of_settings(lock: BaselineLock, state: CallState | None) -> Iterator[str]:
    if state is None:
        return
    contract = lock.contract
    if state.gradients != contract.gradients:
        are, has = ("enabled", "off") if state.gradients else ("off", "on")
        yield f"gradients are {are}, where it has them {has}"
    if contract.stream is StreamRule.DEFAULT and state.default_stream is False:
        yield "the stream is not the default one, where it knows no other"
    if state.default_dtype != _USUAL_DTYPE:
        yield f"torch's default dtype is {state.default_dtype}, where it is {_USUAL_DTYPE}"
    if state.autocast:
        yield "autocast is on"


def _of_tensors(lock: BaselineLock, function: Function, row: Row) -> Iterator[str]:
    entry = lock.entries.get(function.name)
    tensors = [(a.name, row.tensors.get(a.name)) for a in function.arguments]
    passed = [(name, tensor) for name, tensor in tensors if tensor is not None]
    if entry is not None and entry.dtypes and passed:
        name, first = passed[0]
        if first.dtype not in entry.dtypes:
            yield f"{name} is {first.dtype}, where it has {', '.join(entry.dtypes)}"
    for name, tensor in passed:
        strange = _strange(tensor, entry, contiguous=lock.contract.contiguous)
        if strange:
            of_entry = () if entry is None or lock.contract.contiguous else entry.layouts
            wanted = ", ".join(of_entry or (Layout.CONTIGUOUS,))
            yield f"{name} is {', '.join(strange)}, where it has {wanted}"
            return  # one tensor is enough to look at


def _strange(tensor: TensorSpec, entry: LockedEntry | None, *, contiguous: bool) -> list[Layout]:
    """How a tensor lies that neither the entry nor the contract provides for."""
    layouts = layouts_of(tensor)
    allowed = {*entry.layouts} if entry is not None else set()
    if Layout.STRIDED in allowed:
        allowed.add(Layout.CHUNK)
    strange = [layout for layout in layouts if allowed and layout not in allowed]
    if contiguous:
        strange += [x for x in layouts if x not in {Layout.CONTIGUOUS, Layout.MISALIGNED}]
    return list(dict.fromkeys(strange))


def layouts_of(tensor: TensorSpec) -> tuple[Layout, ...]:
    """How a tensor lies: in one of the ways, and misaligned or not."""
    steps = tensor.strides or tensor.contiguous_strides
    wide = [axis for axis, extent in enumerate(tensor.shape) if extent > 1]
    if any(steps[axis] == 0 for axis in wide):
        found = Layout.BROADCAST
    elif all(steps[axis] == tensor.contiguous_strides[axis] for axis in wide):
        found = Layout.CONTIGUOUS
    else:
        found = Layout.CHUNK if _is_chunk(tensor.shape, steps, wide) else Layout.STRIDED
    aligned = tensor.offset * tensor.dtype.itemsize % _ALIGNED_BYTES == 0
    return (found,) if aligned else (found, Layout.MISALIGNED)


def _is_chunk(shape: Sequence[int], steps: Sequence[int], wide: Sequence[int]) -> bool:
    """Whether each row is a whole part of a wider one, and the rest follows without gaps."""
    last = len(shape) - 1
    outer = [axis for axis in wide if axis != last]
    if not outer or (last in wide and steps[last] != 1):
        return False
    parts, left = divmod(steps[outer[-1]], math.prod(shape[outer[-1] + 1 :]))
    wider = (*shape[:-1], shape[-1] * parts)
    return left == 0 and all(steps[axis] == math.prod(wider[axis + 1 :]) for axis in outer)
