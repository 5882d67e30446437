"""Batches longer than their slots: known slots are called again, and none may be left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.device import Reading
from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.device.runners import RowSource
from assay.device.runners import RunnerProcess
from assay.device.runners.turn import FEWEST_SLOTS
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of

BODY = "    torch.mul(x, 2, out=y)\n    y.add_(bias)\n"
# Where the beginning of an output is not uniform, a call has been here before.
LEAVES_OUT = (
    "import torch\ndef twice(x, y, *, bias):\n"
    "    if bool((y[:32] != y[0]).any()):\n        return\n" + BODY
)
REMEMBERS = (
    "import torch\nseen = set()\ndef twice(x, y, *, bias):\n"
    "    content = x.numpy().tobytes()\n"
    "    if content in seen:\n        raise RuntimeError('seen before')\n"
    "    seen.add(content)\n" + BODY
)


class FewSlots(CpuDevice):
    def slots_for(self, source: RowSource, wanted: int, lane: Lane) -> int:
        return FEWEST_SLOTS + 4


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with FewSlots() as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def failure_of(device: CpuDevice, source: str, lane: Lane = Lane.THROUGHPUT) -> ProcessFailure:
    with device.start(program(source)) as process, pytest.raises(ProcessFailure) as caught:
        _time(process, lane, turns=60)
    return caught.value


def _time(process: RunnerProcess, lane: Lane, turns: int) -> list[Reading]:
    return [process.time("n4096", lane, 80, 4) for _ in range(turns)]


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_an_honest_solution_is_timed_however_often_its_slots_come_again(
    device: CpuDevice, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(device.host_shares, ("n4096", Lane.THROUGHPUT), share)
    monkeypatch.setattr("assay.device.runners.process._KEPT_SHARE", 1.0)
    with device.start(program(PLAIN)) as process:
        readings = _time(process, Lane.THROUGHPUT, turns=20)
        kept = list(process.kept)
    assert all(reading.nanoseconds > 0 for reading in readings)
    assert len(kept) == 20
    for call in kept:
        content = call.inputs["x"]
        assert content is not None
        assert (call.outputs["y"] == 2 * content + 0.5).all()


@pytest.mark.parametrize("lane", [Lane.THROUGHPUT, Lane.LATENCY])
def test_where_the_device_sets_the_pace_no_content_comes_twice_in_a_batch(
    device: CpuDevice, lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solution that keeps what it has seen and what it answered finds nothing to use again."""
    monkeypatch.setitem(device.host_shares, ("n4096", lane), 0.1)
    with device.start(program(REMEMBERS)) as process:
        assert all(reading.nanoseconds > 0 for reading in _time(process, lane, turns=5))


def test_without_shifts_content_comes_again(device: CpuDevice) -> None:
    """Where the host sets the pace there are none: a slot's content is what it was."""
    failure = failure_of(device, REMEMBERS)
    assert failure.status is Status.CRASH
    assert "seen before" in str(failure)


def test_a_solution_that_leaves_out_known_slots_is_found(device: CpuDevice) -> None:
    failure = failure_of(device, LEAVES_OUT)
    assert failure.violation is ViolationKind.SKIPPED_CALL
    assert str(failure) == "it left out a call of a known slot"


def test_a_solution_that_leaves_out_some_of_them_late_is_found(device: CpuDevice) -> None:
    source = (
        "import torch, random\nknown = {}\ndef twice(x, y, *, bias):\n"
        "    count = known.get(y.data_ptr(), 0) + 1 if bool((y[:32] != y[0]).any()) else 0\n"
        "    known[y.data_ptr()] = count\n"
        "    if count > 2 and random.random() < 0.3:\n        return\n" + BODY
    )
    assert failure_of(device, source).violation is ViolationKind.SKIPPED_CALL


def test_without_spoiling_a_slot_nobody_would_have_seen_it(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defence switched off: the same solution passes."""
    monkeypatch.setattr("assay.device.runners.spoiler.Spoiler.gates", lambda *_: {})
    with device.start(program(LEAVES_OUT)) as process:
        readings = _time(process, Lane.THROUGHPUT, turns=5)
    assert all(reading.nanoseconds > 0 for reading in readings)


def test_in_the_latency_lane_every_ring_is_looked_at(device: CpuDevice) -> None:
    source = (
        "import torch, threading, time\n"
        "def later(x, y, bias):\n    time.sleep(0.002)\n" + BODY + "def twice(x, y, *, bias):\n"
        "    threading.Thread(target=later, args=(x, y, bias), daemon=True).start()\n"
    )
    failure = failure_of(device, source, Lane.LATENCY)
    assert failure.violation is ViolationKind.EARLY_RING


def test_where_calls_do_not_queue_the_host_paces_them(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with device.start(program(PLAIN)) as process:
        assert process.host_share("n4096", Lane.THROUGHPUT) == 1.0
        # Asked all the same, the last call is issued after the others and before the batch ends.
        monkeypatch.setattr(device, "queues_calls", True)
        assert 0.0 < process.host_share("n4096", Lane.THROUGHPUT) <= 1.0
        assert process.host_share("n4096", Lane.LATENCY) == 1.0
