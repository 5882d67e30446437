"""The ring is not believed: work before the clock and after it, with the check on and off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.device.runners import RunnerProcess
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.lane import Lane
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import program

HONEST = """
import gc, sys, time, torch
def work(x, y, bias):
    torch.mul(x, 2, out=y)
    y.add_(bias)
def caller():
    frame = sys._getframe(3)
    return frame if frame.f_code.co_name == "stream" else None
"""

# The collector is switched on again between the ring and the answer.
DEFERS = (
    HONEST
    + """
waiting, enable = [], gc.enable
def finish():
    time.sleep(0.02)  # so that a referee on a busy core has looked
    while waiting:
        work(*waiting.pop())
    enable()
def twice(x, y, *, bias):
    frame = caller()
    if frame is not None:
        gc.enable = finish
        if frame.f_locals["number"] < frame.f_locals["last"] - 1:
            waiting.append((x, y, bias))
            return
    work(x, y, bias)
"""
)

# Of a batch the runner has the calls of all slots at hand before it says that it is ready.
FILLS = (
    HONEST
    + """
filled = False
def twice(x, y, *, bias):
    global filled
    frame = sys._getframe(1)
    if frame.f_code.co_name == "stream" or sys._getframe(2).f_code.co_name == "stream":
        return
    work(x, y, bias)
    while frame is not None and frame.f_code.co_name != "_batch":
        frame = frame.f_back
    if frame is not None and not filled:
        filled = True
        for call in frame.f_locals["calls"]:
            call()
        filled = False
"""
)


@pytest.fixture
def device(device: CpuDevice) -> Iterator[CpuDevice]:
    yield device
    device.defences = ALL_DEFENCES


def timed(device: CpuDevice, source: str) -> RunnerProcess:
    with device.start(program(source)) as process:
        for _ in range(4):
            process.time("n4096", Lane.THROUGHPUT, 20, 3)
        return process


@pytest.mark.parametrize(
    ("source", "kind", "off"),
    [
        (DEFERS, ViolationKind.EARLY_RING, Defences(rings=False)),
        (FILLS, ViolationKind.SLOT_WRITTEN, Defences(uncalled_slots=False, content=False)),
    ],
    ids=["after the ring", "before it is ready"],
)
def test_work_that_is_not_on_the_clock_is_found(
    device: CpuDevice, source: str, kind: ViolationKind, off: Defences
) -> None:
    with pytest.raises(ProcessFailure) as caught:
        timed(device, source)
    assert caught.value.violation is kind
    device.defences = off
    timed(device, source)


def test_what_was_computed_before_the_clock_answers_another_question(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.device.runners.process._KEPT_SHARE", 1.0)
    device.defences = Defences(uncalled_slots=False)

    def wrong_calls(source: str) -> list[int]:
        found = []
        for call in timed(device, source).kept:
            content = call.inputs["x"]
            assert content is not None
            found.append(int((call.outputs["y"] != 2 * content + 0.5).sum()))
        return found

    assert all(1 <= wrong <= 16 for wrong in wrong_calls(FILLS))
    assert wrong_calls(PLAIN) == [0] * 4
    device.defences = Defences(uncalled_slots=False, content=False)
    assert wrong_calls(FILLS) == [0] * 4


def test_in_the_latency_lane_too(device: CpuDevice) -> None:
    source = FILLS.replace('"stream"', '"single"')
    with pytest.raises(ProcessFailure) as caught, device.start(program(source)) as process:
        process.time("n4096", Lane.LATENCY, 20, 3)
    assert caught.value.violation is ViolationKind.SLOT_WRITTEN


# Eight calls at a time, having said of seven that they are done.
MERGES = (
    HONEST
    + """
waiting = []
def twice(x, y, *, bias):
    if caller() is None:
        return work(x, y, bias)
    waiting.append((x, y, bias))
    if len(waiting) == 8:
        while waiting:
            work(*waiting.pop())
"""
)


def test_a_call_that_is_said_to_be_done_is_seen_to_be_so(device: CpuDevice) -> None:
    def whole_batch() -> None:
        with device.start(program(MERGES)) as process:
            process.time("n4096", Lane.THROUGHPUT, 24, 3)

    with pytest.raises(ProcessFailure) as caught:
        whole_batch()
    assert caught.value.violation is ViolationKind.EARLY_RING
    assert str(caught.value) == "it said that a call was done which was not"
    device.defences = Defences(rings=False)
    whole_batch()
