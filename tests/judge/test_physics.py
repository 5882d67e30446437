"""What cannot be is a violation; what can is left alone."""

from __future__ import annotations

import pytest

from assay.device.cpu import CpuDevice
from assay.judge.physics import CACHED_SHARE
from assay.judge.physics import first_impossible
from assay.spec.lane import Lane
from assay.spec.lane import LaneTraits
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import RowVerdict
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender

PEAK = 1e9
HIDDEN_US = 15.0
# The row reads 4096 float32: at the peak 16.384 us, and that much less for what a cache may hold.
LEAST_US = 16.384 * (1 - CACHED_SHARE)


class Device(CpuDevice):
    """A cpu with a data sheet."""

    def __init__(self, peak: float | None = PEAK, *, queues_calls: bool = False) -> None:
        super().__init__()
        self._peak = peak
        self.queues_calls = queues_calls
        self.empty_ns = {Lane.LATENCY: 3_000}

    @property
    def peak_bytes_per_second(self) -> float | None:
        return self._peak

    def traits(self, lane: Lane) -> LaneTraits:
        return super().traits(lane).model_copy(update={"hidden_seconds": HIDDEN_US / 1e6})


def timed(lane: Lane, candidate_us: float, twin_us: float | None = None) -> RowVerdict:
    return RowVerdict(
        row="n4096",
        lane=lane,
        status=Status.UNCLEAR,
        reason="any",
        candidate_us=candidate_us,
        twin_us=twin_us,
    )


def test_faster_than_its_bytes_can_be_read_is_a_violation() -> None:
    rows = [timed(Lane.THROUGHPUT, 0.99 * LEAST_US)]
    found = first_impossible(case(contender(PLAIN)), rows, Device())
    assert found is not None
    assert found.violation is ViolationKind.IMPOSSIBLE_TIME
    assert found.reason is not None
    assert "16384 bytes cannot be read in less than 10.65" in found.reason


@pytest.mark.parametrize("lane", [Lane.THROUGHPUT, Lane.EVENTS])
def test_just_possible_or_only_claimed_is_left_alone(lane: Lane) -> None:
    time = 1.01 * LEAST_US if lane.decides else 0.1
    assert first_impossible(case(contender(PLAIN)), [timed(lane, time)], Device()) is None


def test_a_device_without_a_data_sheet_forbids_nothing() -> None:
    rows = [timed(Lane.THROUGHPUT, 0.001)]
    assert first_impossible(case(contender(PLAIN)), rows, Device(peak=None)) is None


def test_one_call_takes_no_less_than_an_empty_one_and_its_device_time() -> None:
    least = 3.0 + 100.0 - HIDDEN_US
    for offset, possible in ((-0.1, False), (0.1, True)):
        rows = [timed(Lane.LATENCY, least + offset), timed(Lane.GRAPH, 100.0)]
        found = first_impossible(case(contender(PLAIN)), rows, Device(peak=None))
        assert (found is None) is possible


def test_without_the_graph_lane_latency_cannot_be_held_against_it() -> None:
    rows = [timed(Lane.LATENCY, 0.1)]
    assert first_impossible(case(contender(PLAIN)), rows, Device(peak=None)) is None


# Moving its 32768 bytes takes 32.768 us: a twin of 100 us is bound by its launch, one of 60 is not.
@pytest.mark.parametrize(
    ("lane", "candidate_us", "twin_us", "queues", "possible"),
    [
        (Lane.THROUGHPUT, 0.84 * 100, 100.0, True, False),
        (Lane.GRAPH, 0.84 * 100, 100.0, True, False),
        (Lane.THROUGHPUT, 0.86 * 100, 100.0, True, True),
        (Lane.THROUGHPUT, 0.84 * 60, 60.0, True, True),
        (Lane.THROUGHPUT, 0.84 * 100, 100.0, False, True),
        (Lane.EVENTS, 0.84 * 100, 100.0, True, True),
        (Lane.THROUGHPUT, 0.84 * 100, None, True, True),
    ],
)
def test_calls_that_are_faster_than_one_launch_each_were_merged(
    lane: Lane, candidate_us: float, twin_us: float | None, queues: bool, possible: bool
) -> None:
    rows = [timed(lane, candidate_us, twin_us)]
    found = first_impossible(case(contender(PLAIN)), rows, Device(queues_calls=queues))
    assert (found is None) is possible
    if found is not None:
        assert found.violation is ViolationKind.IMPOSSIBLE_TIME
        assert "several calls were made in one" in str(found.reason)
