"""One timed batch, on the referee's clock.

The runner spins on its core, the referee on another. The clock starts when the first call is
revealed and stops when the referee has itself read the last outputs: that the runner says it is
done does not stop it.
"""

from __future__ import annotations

import contextlib
import gc
import select
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from assay.device.failure import ProcessFailure
from assay.device.runners.zygote import RunnerHandle
from assay.spec.status import Status
from assay.wire import doorbell

_SPINS_PER_LOOK = 2000

Gate = Callable[[], None]


def wait_ready(words: memoryview, batch: int, runner: RunnerHandle, seconds: float) -> None:
    """Until the runner has done its warm calls."""
    deadline = time.monotonic() + seconds
    while words[doorbell.READY] != batch:
        _still_there(runner, deadline, seconds)
        if _has_word(runner):
            _hear(runner)


def run_batch(
    words: memoryview,
    first_call: int,
    order: Sequence[int],
    runner: RunnerHandle,
    seconds: float,
    close: Callable[[], None],
    gates: Mapping[int, Gate] | None = None,
) -> int:
    """Reveal the calls one ahead and return the nanoseconds until `close` has read the end.

    A gate is passed before the call of its index is revealed, the first one before the clock runs.
    """
    gates = gates or {}
    count = len(order)
    revealed = 1
    deadline = time.monotonic() + seconds
    spins = 0
    clock = time.perf_counter_ns
    with _no_collector():
        if 0 in gates:
            gates[0]()
        begun = clock()
        words[doorbell.ring_index(first_call)] = doorbell.call_word(first_call, order[0])
        while True:
            done = words[doorbell.DONE] - first_call + 1
            while revealed < count and revealed <= done + 1:
                if revealed in gates:
                    gates[revealed]()
                call = first_call + revealed
                words[doorbell.ring_index(call)] = doorbell.call_word(call, order[revealed])
                revealed += 1
            if done >= count:
                break
            spins += 1
            if spins % _SPINS_PER_LOOK == 0:
                _look_after(words, first_call + count - 1, runner, deadline, seconds)
        close()
        return clock() - begun


def run_singles(
    words: memoryview,
    first_call: int,
    order: Sequence[int],
    runner: RunnerHandle,
    seconds: float,
    prepare: Callable[[int], None] | None = None,
    check: Callable[[int], None] | None = None,
) -> int:
    """Reveal each call when the one before it has been looked at; the nanoseconds of the calls
    alone, summed. Off the clock `prepare` is given the index of each call before it is revealed,
    and `check` the moment its ring was heard."""
    deadline = time.monotonic() + seconds
    clock = time.perf_counter_ns
    total = 0
    with _no_collector():
        for number, slot in enumerate(order):
            call = first_call + number
            index, word, spins = doorbell.ring_index(call), doorbell.call_word(call, slot), 0
            if prepare is not None:
                prepare(number)
            begun = clock()
            words[index] = word
            while words[doorbell.DONE] < call:
                spins += 1
                if spins % _SPINS_PER_LOOK == 0:
                    _look_after(words, call, runner, deadline, seconds)
            total += clock() - begun
            if check is not None:
                check(number)
    return total


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _look_after(
    words: memoryview, last_call: int, runner: RunnerHandle, deadline: float, seconds: float
) -> None:
    _still_there(runner, deadline, seconds)
    # An answer before the last call means that the solution raised instead.
    if _has_word(runner) and words[doorbell.DONE] < last_call:
        _hear(runner)


def _still_there(runner: RunnerHandle, deadline: float, seconds: float) -> None:
    if not runner.alive():
        runner.answer(2.0)
        raise ProcessFailure(Status.CRASH, "its process ended in the middle of a batch")
    if time.monotonic() > deadline:
        raise ProcessFailure(Status.TIMEOUT, f"a batch took longer than {seconds:.0f} s")


def _hear(runner: RunnerHandle) -> None:
    runner.answer(2.0)
    raise ProcessFailure(Status.CRASH, "it left the batch before its end")


def _has_word(runner: RunnerHandle) -> bool:
    return bool(select.select([runner.control], [], [], 0)[0])
