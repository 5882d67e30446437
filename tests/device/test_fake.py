from __future__ import annotations

from itertools import pairwise

import pytest

from assay.device.fake import CALL_OVERHEAD
from assay.device.fake import FakeDevice
from assay.device.fake import Script
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.sample import Disturbance
from tests.noise import NoiseLevel
from tests.noise import SimulatedNoise
from tests.noise import WithEpisodes
from tests.noise import clock_step
from tests.noise import foreign_work
from tests.noise import throttling

SILENT = NoiseLevel(drift=0, jitter=0, process=0, outlier_rate=0)


def test_a_quiet_device_gives_exactly_what_the_script_says() -> None:
    process = FakeDevice().start(Script({"a": 80e-6, "b": 2e-3}))
    assert process.time("a", Lane.THROUGHPUT, 500, 1).nanoseconds == 40_000_000
    assert process.time("b", Lane.THROUGHPUT, 5, 1).nanoseconds == 10_000_000


def test_a_single_call_costs_its_overhead_too() -> None:
    process = FakeDevice().start(Script({"a": 80e-6}))
    expected = round((80e-6 + CALL_OVERHEAD) * 1e9)
    assert process.time("a", Lane.LATENCY, 1, 8).nanoseconds == expected


def test_time_passes_for_warm_calls_and_turns_as_well() -> None:
    device = FakeDevice()
    device.start(Script({"a": 1e-3})).time("a", Lane.THROUGHPUT, 10, 1)
    # 11 calls of 1 ms and a turn of 0.5 ms
    assert device.now == pytest.approx(0.0115)


def test_processes_are_counted_until_they_are_stopped_once() -> None:
    device = FakeDevice()
    first, second = device.start(Script({})), device.start(Script({}))
    assert device.running == 2
    first.stop()
    first.stop()
    second.stop()
    assert device.running == 0


def test_a_stopped_process_an_unknown_row_and_an_unknown_lane_are_misuse() -> None:
    device = FakeDevice()
    process = device.start(Script({"a": 1.0}))
    with pytest.raises(UsageError, match="the script has no row b"):
        process.time("b", Lane.THROUGHPUT, 1, 0)
    with pytest.raises(UsageError, match="no graph lane"):
        process.time("a", Lane.GRAPH, 1, 0)
    process.stop()
    with pytest.raises(UsageError, match="stopped process"):
        process.time("a", Lane.THROUGHPUT, 1, 0)


def test_a_process_keeps_its_offset_for_life() -> None:
    noise = SimulatedNoise(1, NoiseLevel(drift=0, jitter=0, process=0.1, outlier_rate=0))
    device = FakeDevice(noise)
    script = Script({"a": 1e-3})
    first, second = device.start(script), device.start(script)
    times = [p.time("a", Lane.THROUGHPUT, 10, 1).nanoseconds for p in (first, first, second)]
    assert times[0] == times[1]
    assert times[0] != times[2]


def test_the_simulated_noise_has_the_strengths_that_it_states() -> None:
    noise = SimulatedNoise(2)
    factors = [noise.reading(0.0, 1.0).factor for _ in range(50_000)]
    outliers = sum(1 for before, now in pairwise(factors) if now / before > 2)
    assert outliers / 50_000 == pytest.approx(1 / 50, rel=0.1)
    again = SimulatedNoise(2)
    assert factors[:100] == [again.reading(0.0, 1.0).factor for _ in range(100)]


def test_episodes_are_seen_while_they_last_and_only_then() -> None:
    noise = WithEpisodes(
        SimulatedNoise(0, SILENT),
        (throttling(0.0, 0.02), foreign_work(0.02, 0.04), clock_step(0.04, 0.06, -1.0)),
    )
    device = FakeDevice(noise)
    process = device.start(Script({"a": 1e-3}))

    throttled = process.time("a", Lane.THROUGHPUT, 10, 0)
    assert throttled.disturbances == (Disturbance.THROTTLED,)
    assert throttled.clock_mhz == 1188
    assert throttled.nanoseconds == pytest.approx(10e6 / 0.6, abs=1)

    device.now = 0.02
    shared = process.time("a", Lane.THROUGHPUT, 10, 0)
    assert shared.disturbances == (Disturbance.FOREIGN_WORK,)
    assert shared.nanoseconds == 20_000_000

    device.now = 0.04
    assert process.time("a", Lane.THROUGHPUT, 10, 0).nanoseconds == 10_000_000 - 1_000_000_000

    device.now = 0.07
    after = process.time("a", Lane.THROUGHPUT, 10, 0)
    assert (after.nanoseconds, after.disturbances) == (10_000_000, ())
