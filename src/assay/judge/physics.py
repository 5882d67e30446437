"""Physics: results that cannot be, whatever the clock said.

Three limits. No call is faster than the bytes that it must read at the data sheet's peak; a little
is forgiven for what a cache may still hold. One call with the device idle before and after takes
no less than a call that does nothing plus the device time that the graph lane shows, less a bound.
And where a call is so small that its launch is what takes the time, none is faster than the copy
twin, which is one launch: who is faster has made several calls in one.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.device.runners import RunnerDevice
from assay.judge.case import Case
from assay.judge.twin import bytes_moved
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.verdict import RowVerdict
from assay.spec.workload import Row

CACHED_SHARE = 0.35
"""Of the bytes that must be read, what may come from a cache: the buffers that calls rotate over
are at least three times as large as it."""

LAUNCH_SHARE = 0.85
"""Of the copy twin's time, what no call of one launch is below. The smallest that was seen of an
honest one on an H200 is 0.98."""
_LAUNCH_BOUND = 0.5
"""A twin whose bytes take less than this share of its time is bound by its launch."""


def first_impossible(
    case: Case, rows: Sequence[RowVerdict], device: RunnerDevice
) -> RowVerdict | None:
    """The first row whose candidate is faster than it can be, as a violation."""
    for verdict in rows:
        reason = (
            _too_fast(case, verdict, device)
            or _too_prompt(verdict, rows, device)
            or _too_few_launches(case, verdict, device)
        )
        if reason is not None:
            return RowVerdict(
                row=verdict.row,
                lane=verdict.lane,
                status=Status.VIOLATION,
                reason=reason,
                violation=ViolationKind.IMPOSSIBLE_TIME,
            )
    return None


def _too_fast(case: Case, verdict: RowVerdict, device: RunnerDevice) -> str | None:
    peak = device.peak_bytes_per_second
    if peak is None or verdict.candidate_us is None or not verdict.lane.decides:
        return None
    row = next(row for row in case.rows if row.id == verdict.row)
    read = _must_read(case.function_of(row), row)
    least = (1 - CACHED_SHARE) * read / peak * 1e6
    if verdict.candidate_us >= least:
        return None
    return (
        f"{verdict.candidate_us:.2f} µs a call, but {read} bytes cannot be read in less than "
        f"{least:.2f} µs"
    )


def _must_read(function: Function, row: Row) -> int:
    """Bytes that no solution can do without: all inputs but tables that are read by index, of
    which a call may need a line or two."""
    indexed = {a.integers[1] for a in function.arguments if a.integers is not None}
    kept = tuple(
        argument
        for argument in function.arguments
        if argument.role is not Role.INPUT or indexed.isdisjoint(argument.shape)
    )
    return bytes_moved(function.model_copy(update={"arguments": kept}), row)[0]


def _too_prompt(
    verdict: RowVerdict, rows: Sequence[RowVerdict], device: RunnerDevice
) -> str | None:
    if verdict.lane is not Lane.LATENCY or verdict.candidate_us is None:
        return None
    graphs = (other for other in rows if other.lane is Lane.GRAPH and other.row == verdict.row)
    graph = next((other.candidate_us for other in graphs), None)
    empty = device.empty_ns.get(Lane.LATENCY)
    if graph is None or empty is None:
        return None
    least = empty / 1000 + graph - device.traits(Lane.LATENCY).hidden_seconds * 1e6
    if verdict.candidate_us >= least:
        return None
    return (
        f"{verdict.candidate_us:.1f} µs for one call, less than an empty call ({empty / 1000:.1f}) "
        f"and its device time ({graph:.1f}) allow"
    )


def _too_few_launches(case: Case, verdict: RowVerdict, device: RunnerDevice) -> str | None:
    """Only where calls queue: elsewhere a call is over when it returns, and seen to be."""
    peak, twin = device.peak_bytes_per_second, verdict.twin_us
    if not device.queues_calls or not verdict.lane.decides or verdict.lane is Lane.LATENCY:
        return None
    if peak is None or twin is None or verdict.candidate_us is None:
        return None
    row = next(row for row in case.rows if row.id == verdict.row)
    moved = sum(bytes_moved(case.function_of(row), row))
    if moved / peak * 1e6 > _LAUNCH_BOUND * twin or verdict.candidate_us >= LAUNCH_SHARE * twin:
        return None
    return (
        f"{verdict.candidate_us:.2f} µs a call, where one launch that moves these bytes takes "
        f"{twin:.2f} µs: several calls were made in one"
    )
