"""Accounts: what ran on the device in some calls of a candidate, each kernel attributed.

Everything here rests on events from inside the candidate's own process. They may convict it: work
outside its calls is a violation. They acquit it of nothing: whoever can change the events can also
leave some out, and an empty account is one in which nothing was seen.
"""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners.account import KERNEL
from assay.device.runners.account import LAUNCH
from assay.device.runners.account import MARK
from assay.device.runners.account import MARKED
from assay.device.runners.account import Event
from assay.device.runners.account import Taken
from assay.device.runners.account import take_account
from assay.device.runners.layout import lay_out
from assay.judge.case import Case
from assay.judge.exam import failed
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.kernel_names import defined_kernels
from assay.judge.kernel_names import is_own
from assay.spec.account import DeviceAccount
from assay.spec.account import KernelUse
from assay.spec.account import Origin
from assay.spec.account import Place
from assay.spec.account import RowAccount
from assay.spec.distribution import Distribution
from assay.spec.errors import quote
from assay.spec.status import ViolationKind
from assay.spec.verdict import RowVerdict
from assay.spec.workload import Row

CALLS = 4
MOST_ROWS = 8
LATE_NS = 100_000
"""By so much a kernel may end after its call: the profiler matches two clocks, not perfectly."""
_MOST_KERNELS = 200


@dataclass(frozen=True)
class Placed:
    """Something that ran on the device, and where it belongs."""

    event: Event
    place: Place
    elsewhere: bool = False
    """Launched in a call, by another thread than the one that made it."""


def calls_of(events: Iterable[Event], calls: int) -> list[Event]:
    """The marks around the calls, in order; ValueError where they are not what was asked for."""
    marks = sorted((e for e in events if e.kind == MARKED), key=lambda mark: mark.start)
    if [mark.name for mark in marks] != [f"{MARK}{number}" for number in range(calls)]:
        raise ValueError(f"{len(marks)} calls are marked, not {calls} in their order")
    if any(after.start < before.end for before, after in itertools.pairwise(marks)):
        raise ValueError("marks of calls overlap")
    return marks


def attribute(events: Sequence[Event], calls: int) -> list[Placed]:
    """Where each kernel, copy and fill belongs.

    What has a launch on record belongs where it was launched; what has none, where it ran.
    """
    marks = calls_of(events, calls)
    launches = {e.correlation: e for e in events if e.kind == LAUNCH and e.correlation}
    return [_placed(e, launches.get(e.correlation), marks) for e in events if e.on_device]


def _placed(event: Event, launch: Event | None, marks: Sequence[Event]) -> Placed:
    slack = 0 if launch is not None else LATE_NS
    begun = event.start if launch is None else launch.start
    call = next((m for m in marks if m.start - slack <= begun <= m.end + slack), None)
    if call is None:
        return Placed(event, Place.OUTSIDE)
    late = event.end > call.end + LATE_NS
    elsewhere = launch is not None and launch.thread != call.thread
    return Placed(event, Place.LATE if late else Place.INSIDE, elsewhere)


def busy(events: Iterable[Event]) -> int:
    """Nanoseconds in which at least one of them ran."""
    total = until = 0
    for event in sorted(events, key=lambda e: e.start):
        total += max(0, event.end - max(event.start, until))
        until = max(until, event.end)
    return total


def row_account(row: str, taken: Taken, calls: int, defined: frozenset[str]) -> RowAccount:
    """The account of one row, or why there is none."""
    if taken.left_out:
        return _unseen(row, calls, "there were more events than are looked at")
    try:
        placed = attribute(taken.events, calls)
    except ValueError as error:
        return _unseen(row, calls, f"its events do not hold together: {error}")
    if not placed:
        return _unseen(row, calls, "nothing was seen on the device")
    busy_ns = busy(one.event for one in placed)
    if busy_ns > taken.nanoseconds:
        told = "it states more device time than there was by the referee's clock"
        return _unseen(row, calls, told)
    return RowAccount(
        row=row,
        calls=calls,
        kernels=_used(placed, calls, defined),
        busy_us=busy_ns / 1000,
        request_us=taken.nanoseconds / 1000,
        launched_elsewhere=sum(one.elsewhere for one in placed),
    )


def _unseen(row: str, calls: int, reason: str) -> RowAccount:
    return RowAccount(row=row, calls=calls, unseen=quote(reason))


def _used(placed: Iterable[Placed], calls: int, defined: frozenset[str]) -> tuple[KernelUse, ...]:
    """By name and place, the longest first; of a flood of names only so many."""
    launches: Counter[tuple[str, Origin, Place]] = Counter()
    nanoseconds: dict[tuple[str, Origin, Place], int] = defaultdict(int)
    for one in placed:
        key = (one.event.name, _origin(one.event, defined), one.place)
        launches[key] += 1
        nanoseconds[key] += one.event.end - one.event.start
    order = sorted(launches, key=lambda key: (key[2] is Place.INSIDE, -nanoseconds[key], key))
    return tuple(
        KernelUse(
            name=key[0],
            origin=key[1],
            place=key[2],
            launches_a_call=launches[key] / calls,
            us_a_call=nanoseconds[key] / 1000 / calls,
        )
        for key in order[:_MOST_KERNELS]
    )


def _origin(event: Event, defined: frozenset[str]) -> Origin:
    if event.kind != KERNEL:
        return Origin.COPY
    return Origin.OWN if is_own(event.name, defined) else Origin.LIBRARY


def summed(rows: Sequence[RowAccount]) -> DeviceAccount:
    """All rows as one account."""
    total = sum(row.device_us for row in rows)
    own = sum(row.us_of(Origin.OWN) for row in rows)
    library = {
        used.name: None for row in rows for used in row.kernels if used.origin is Origin.LIBRARY
    }
    return DeviceAccount(
        rows=tuple(rows),
        own_share=min(own / total, 1.0) if total else None,
        library_kernels=tuple(library),
    )


def conviction(account: DeviceAccount) -> RowVerdict | None:
    """The violation that an account shows, if it shows one; None says nothing."""
    for row in account.rows:
        for used in row.kernels:
            if used.place is Place.INSIDE:
                continue
            when = "when there was no call" if used.place is Place.OUTSIDE else "on after its call"
            times = round(used.launches_a_call * row.calls)
            reason = f"{used.name} ran {when}, {times} times beside {row.calls} calls"
            return failed(row.row, violation(ViolationKind.FOREIGN_KERNEL, reason))
    return None


def labels_of(account: DeviceAccount) -> list[str]:
    """What a verdict says where rows have no account."""
    reasons = dict.fromkeys(row.unseen for row in account.rows if row.unseen is not None)
    return [f"device not accounted for: {reason}" for reason in reasons]


def take_accounts(case: Case, device: RunnerDevice, program: Program) -> DeviceAccount:
    """Accounts of some rows, all taken in one process that serves nothing else.

    A process that fails here is not judged for it: the profiler is ours, and a sandbox that is
    not to its liking is too.
    """
    defined = defined_kernels(case.candidate.sources)
    rows = case.rows[:MOST_ROWS]
    accounts: list[RowAccount] = []
    try:
        with device.start(program) as process:
            for row in rows:
                accounts.append(_of(case, process, row, defined))
    except ProcessFailure as failure:
        reason = f"its process failed under the profiler: {failure}"
        accounts += [_unseen(row.id, CALLS, reason) for row in rows[len(accounts) :]]
    return summed(accounts)


def take_row(case: Case, process: RunnerProcess, row: Row, most: int) -> tuple[Taken, int]:
    """What the profiler sees of some calls of a row, and how many those were; ValueError where the
    runner talks nonsense."""
    function = case.function_of(row)
    one = lay_out(function, row, 1)
    # Of a very large row fewer calls have room.
    calls = max(1, min(most, (process.memory.size - one.first_slot) // one.slot_bytes))
    generator = seeded(process.device.torch_device, secrets.randbits(63))
    contents = make_inputs(function, row, Distribution.NORMAL, generator)
    source = RowSource(function, row, lambda: contents)
    return take_account(process, source, contents, calls), calls


def _of(case: Case, process: RunnerProcess, row: Row, defined: frozenset[str]) -> RowAccount:
    try:
        taken, calls = take_row(case, process, row, CALLS)
    except ValueError as error:
        return _unseen(row.id, CALLS, f"its account is {error}")
    return row_account(row.id, taken, calls, defined)
