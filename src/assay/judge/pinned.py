"""Pinned rows: what a few calls of a row are seen to launch, and which names that matches."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from collections.abc import Sequence

from assay.device.runners import RunnerProcess
from assay.device.runners.account import OPERATOR
from assay.device.runners.account import CallState
from assay.device.runners.account import Event
from assay.device.runners.account import Taken
from assay.judge.accounts import calls_of
from assay.judge.accounts import row_account
from assay.judge.accounts import take_row
from assay.judge.case import Case
from assay.judge.kernel_names import bare
from assay.judge.toolchain import demangled_names
from assay.spec.account import PinnedRow
from assay.spec.account import Place
from assay.spec.errors import quote
from assay.spec.lock import BaselineLock
from assay.spec.task import DeviceKind
from assay.spec.workload import Row

CALLS = 2
_MANGLED = "_Z"


def packages_of(lock: BaselineLock) -> frozenset[str]:
    """The top-level names that its files are imported by."""
    entries = {entry.entry.partition(":")[0] for entry in lock.entries.values()}
    files = {file.path for file in lock.files if file.path.endswith(".py")}
    names = {name.partition(".")[0] for name in entries}
    names |= {path.partition("/")[0].removesuffix(".py") for path in files}
    return frozenset(name for name in names if name.isidentifier())


def matched(patterns: Iterable[str], names: Sequence[str]) -> set[str]:
    """The patterns that one of the names matches, as the profiler spells it, demangled, or without
    templates and parameters.

    >>> matched({"*norm*", "copy"}, ["void own::norm<float, 2>(float const*)"])
    {'*norm*'}
    """
    mangled = [name for name in names if name.startswith(_MANGLED)]
    spelled = {*names, *demangled_names(mangled)}
    spelled |= {bare(name) for name in spelled}
    # A bracket in a kernel's name is one, and no set of characters.
    return {
        pattern
        for pattern in patterns
        if any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for name in spelled)
    }


def watch_row(case: Case, process: RunnerProcess, row: Row) -> tuple[PinnedRow, CallState | None]:
    """Some calls of a row under the profiler: what they launched, and how torch was set."""
    try:
        taken, calls = take_row(case, process, row, CALLS)
    except ValueError as error:
        return unseen(row, f"its account is {error}"), None
    on_device = process.device.target.kind != DeviceKind.CPU
    return seen(row, taken, calls, on_device=on_device), taken.state


def seen(row: Row, taken: Taken, calls: int, *, on_device: bool) -> PinnedRow:
    """Kernels that were launched in the calls; where there is no device, operators."""
    if not on_device:
        return _operators(row, taken, calls)
    account = row_account(row.id, taken, calls, frozenset())
    if account.unseen is not None:
        return unseen(row, account.unseen)
    return _row(row, (used.name for used in account.kernels if used.place is not Place.OUTSIDE))


def unseen(row: Row, reason: str) -> PinnedRow:
    return PinnedRow(row=row.id, function=row.function, unseen=quote(reason))


def _operators(row: Row, taken: Taken, calls: int) -> PinnedRow:
    try:
        marks = calls_of(taken.events, calls)
    except ValueError as error:
        return unseen(row, f"its events do not hold together: {error}")
    return _row(row, (e.name for e in taken.events if e.kind == OPERATOR and _within(e, marks)))


def _within(event: Event, marks: Sequence[Event]) -> bool:
    return any(mark.start <= event.start <= mark.end for mark in marks)


def _row(row: Row, names: Iterable[str]) -> PinnedRow:
    return PinnedRow(row=row.id, function=row.function, kernels=tuple(dict.fromkeys(names)))
