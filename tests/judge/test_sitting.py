from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from assay.device import Process
from assay.device import Reading
from assay.device.failure import ProcessFailure
from assay.device.fake import FakeDevice
from assay.device.fake import Noise
from assay.device.fake import Script
from assay.judge.sitting import Progress
from assay.judge.sitting import RowRecord
from assay.judge.sitting import SideFailed
from assay.judge.sitting import Sitting
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import QUICK_BUDGET
from assay.spec.rules import Rules
from assay.spec.sample import Pair
from assay.spec.sample import Side
from assay.spec.status import Status
from assay.stats.blocks import block_table
from assay.stats.row_rule import replay
from tests.noise import SimulatedNoise
from tests.noise import WithEpisodes
from tests.noise import clock_step
from tests.noise import foreign_work
from tests.noise import throttling

RULES = Rules()


def judged(
    gain: float, *, noise: Noise | None = None, seed: int = 0, call: float = 1e-4
) -> RowRecord:
    device = FakeDevice(noise)
    baseline, candidate = Script({"row": call}), Script({"row": call / (1 + gain)})
    sitting = Sitting(device, baseline, candidate, RULES, order=random.Random(seed))
    record = sitting.run(["row"], [Lane.THROUGHPUT], DEFAULT_BUDGET)[0]
    assert device.running == 0
    return record


@pytest.mark.parametrize(
    ("gain", "status"), [(0.05, Status.FASTER), (-0.05, Status.SLOWER), (0.0, Status.SAME)]
)
def test_on_a_quiet_device_the_first_look_settles_it(gain: float, status: Status) -> None:
    record = judged(gain)
    verdict = record.verdict()
    assert verdict.status is status
    assert verdict.ratio == pytest.approx(1 + gain, rel=1e-6)
    assert verdict.baseline_us == pytest.approx(100.0)
    assert verdict.measurement is not None
    assert (verdict.measurement.looks, verdict.measurement.generations) == (1, 8)


def test_every_block_is_balanced_and_both_kinds_are_there() -> None:
    record = judged(0.0)
    ab, aa = block_table(record.samples, Pair.AB), block_table(record.samples, Pair.AA)
    assert (ab.generations, aa.generations) == (8, 8)
    assert {len(group) for group in ab.groups} == {12}
    assert {len(group) for group in aa.groups} == {7}


def test_both_baseline_processes_take_turns_against_the_candidate() -> None:
    samples = [s for s in judged(0.0).samples if s.pair is Pair.AB and s.position == 0]
    sides = Counter(s.side for s in judged(0.0).samples if s.pair is Pair.AB)
    assert sides[Side.BASELINE] == sides[Side.ECHO] == sides[Side.CANDIDATE] / 2
    assert len(samples) == 8 * 12


def test_orders_are_tossed_and_differ_between_sittings() -> None:
    def order(seed: int) -> list[Side]:
        return [sample.side for sample in judged(0.0, seed=seed).samples]

    assert order(1) != order(2)
    assert order(1) == order(1)
    first = Counter(s.side for s in judged(0.0).samples if s.position == 0 and s.pair is Pair.AB)
    # ABBA and BAAB both occur: the candidate opens some blocks and not others.
    assert 0 < first[Side.CANDIDATE] < 96


def test_a_replay_of_the_samples_gives_the_same_finding() -> None:
    for gain in (0.0, 0.01, 0.03):
        record = judged(gain, noise=SimulatedNoise(5))
        again = replay(record.samples, RULES, record.plan)
        assert again == record.finding


def test_the_plan_does_not_depend_on_what_the_candidate_does() -> None:
    assert judged(0.0, noise=SimulatedNoise(3)).plan.launches == pytest.approx(100, abs=3)
    assert judged(1.0).plan == judged(0.0).plan == judged(-0.8).plan


def test_a_throttled_stretch_is_dropped_and_counted() -> None:
    # About 2 s of some 17: both sides slow down and say so.
    noise = WithEpisodes(SimulatedNoise(1), (throttling(1.0, 2.0),))
    measured = judged(0.03, noise=noise).verdict().measurement
    assert measured is not None
    assert measured.dropped_blocks > 0
    assert measured.ratio == pytest.approx(1.03, abs=0.01)


def test_a_disturbed_reading_is_taken_again_at_its_position() -> None:
    # A tenth of each second is throttled: what falls there is read again after it.
    noise = WithEpisodes(SimulatedNoise(1), tuple(throttling(s, s + 0.02) for s in range(40)))
    record = judged(0.03, noise=noise)
    measured = record.verdict().measurement
    assert measured is not None
    assert (measured.retaken > 0, measured.dropped_blocks) == (True, 0)
    assert {len(group) for group in block_table(record.samples, Pair.AB).groups} == {12}
    # All of them are kept, and what is not the last of its position is disturbed.
    places = [(s.generation, s.block, s.position) for s in record.samples]
    again = [
        s
        for s, here, after in zip(record.samples, places, places[1:], strict=False)
        if here == after
    ]
    assert len(again) == measured.retaken
    assert all(sample.disturbances for sample in again)


def test_readings_are_taken_again_only_so_often() -> None:
    noise = WithEpisodes(SimulatedNoise(4), (throttling(0.0, 1e9),))
    record = judged(0.0, noise=noise)
    of_first = Counter((s.block, s.position) for s in record.samples if s.generation == 0)
    # 76 readings planned, as many again to spare: four each for the first nineteen.
    assert sum(of_first.values()) == 2 * 76
    assert sorted(of_first.values()) == [1] * 57 + [5] * 19


class SharedHost(FakeDevice):
    """Two readings in five have another guest on the core, which makes them longer."""

    guest = random.Random(3)

    def read(self, seconds: float) -> Reading:
        taken = super().read(seconds)
        if self.guest.random() < 0.6:
            return replace(taken, paces=(1.0, 1.1))
        longer = round(taken.nanoseconds * self.guest.uniform(1.1, 1.8))
        return replace(taken, nanoseconds=longer, paces=(1.0, 1.8))


def test_a_reading_on_a_slow_host_is_disturbed() -> None:
    def interval(rules: Rules) -> tuple[float, float] | None:
        script = Script({"row": 1e-4})
        sitting = Sitting(SharedHost(), script, script, rules, order=random.Random(0))
        return sitting.run(["row"], [Lane.THROUGHPUT], DEFAULT_BUDGET)[0].verdict().interval

    assert interval(RULES) == (1.0, 1.0)
    # With the rule off the same readings are noise.
    low, high = interval(Rules(slow_host=0.99)) or (1.0, 1.0)
    assert high - low > 0.01


def test_foreign_work_that_nobody_reports_does_not_make_a_verdict() -> None:
    noise = WithEpisodes(SimulatedNoise(2), (foreign_work(0.5, 2.0, reported=False),))
    assert judged(0.0, noise=noise).verdict().status in {Status.SAME, Status.UNCLEAR}


@pytest.mark.parametrize("seconds", [-3600.0, 0.02])
def test_a_clock_that_steps_does_not_make_a_verdict(seconds: float) -> None:
    noise = WithEpisodes(SimulatedNoise(3), (clock_step(1.0, 1.2, seconds),))
    verdict = judged(0.0, noise=noise).verdict()
    assert verdict.status in {Status.SAME, Status.UNCLEAR}
    assert verdict.ratio == pytest.approx(1.0, abs=0.01)


def test_a_device_that_throttles_all_the_time_gives_no_verdict() -> None:
    noise = WithEpisodes(SimulatedNoise(4), (throttling(0.0, 1e9),))
    verdict = judged(0.5, noise=noise).verdict()
    assert verdict.status is Status.UNCLEAR
    assert verdict.reason == "100% of the blocks were disturbed"


def test_rows_that_are_settled_are_not_measured_further() -> None:
    device = FakeDevice(SimulatedNoise(6))
    baseline = Script({"easy": 1e-4, "hard": 1e-4})
    candidate = Script({"easy": 5e-5, "hard": 1e-4 / 1.007})
    records = Sitting(device, baseline, candidate, RULES, order=random.Random(0)).run(
        ["easy", "hard"], [Lane.THROUGHPUT], DEFAULT_BUDGET
    )
    easy, hard = records
    assert easy.verdict().status is Status.FASTER
    assert max(s.generation for s in easy.samples) == 7
    assert max(s.generation for s in hard.samples) > 7


def test_progress_only_goes_forward_and_ends_at_the_end() -> None:
    seen: list[Progress] = []
    device = FakeDevice()
    script = Script({"a": 1e-3, "b": 1e-3})
    Sitting(device, script, script, RULES, progress=seen.append).run(
        ["a", "b"], [Lane.THROUGHPUT, Lane.LATENCY], QUICK_BUDGET
    )
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1].done == seen[-1].total
    assert seen[0].label == "a throughput"


def test_a_quick_budget_is_kept() -> None:
    device = FakeDevice(SimulatedNoise(7))
    rows = {f"r{k}": 1e-4 for k in range(10)}
    Sitting(device, Script(rows), Script(rows), RULES).run(
        list(rows), [Lane.THROUGHPUT], QUICK_BUDGET
    )
    # 60 s for all ten rows; noise may stretch single readings.
    assert device.now < 63


def test_processes_are_stopped_when_one_of_them_fails() -> None:
    class Failing(FakeDevice):
        def start(self, program: Script) -> Process:
            if self.running == 2:
                raise UsageError("the third process does not start")
            return super().start(program)

    device = Failing()
    with pytest.raises(UsageError, match="does not start"):
        Sitting(device, Script({"a": 1e-3}), Script({"a": 1e-3}), RULES).run(
            ["a"], [Lane.THROUGHPUT], DEFAULT_BUDGET
        )
    assert device.running == 0


def test_a_side_that_does_not_start_again_is_named_and_the_others_end() -> None:
    class Failing(FakeDevice):
        def start(self, program: Script) -> Process:
            if self.running == 2:
                raise ProcessFailure(Status.CRASH, "not a second time")
            return super().start(program)

    device = Failing()
    with pytest.raises(SideFailed, match="not a second time") as caught:
        Sitting(device, Script({"a": 1e-3}), Script({"a": 1e-3}), RULES).run(
            ["a"], [Lane.THROUGHPUT], DEFAULT_BUDGET
        )
    assert (caught.value.side, caught.value.row) == (Side.CANDIDATE, "a")
    assert device.running == 0


@pytest.mark.parametrize(("share", "disturbed"), [(1.0, True), (0.2, False)])
def test_a_slow_host_disturbs_only_rows_that_the_host_paces(share: float, disturbed: bool) -> None:
    class SlowHost(Process):
        def __init__(self, inner: Process) -> None:
            self._inner = inner

        def time(self, row: str, lane: Lane, launches: int, warm_launches: int) -> Reading:
            reading = self._inner.time(row, lane, launches, warm_launches)
            return replace(reading, paces=(1.0, 2.0))

        def host_share(self, row: str, lane: Lane) -> float:
            return share

        def stop(self) -> None:
            self._inner.stop()

    class Slow(FakeDevice):
        def start(self, program: Script) -> Process:
            return SlowHost(super().start(program))

    (record,) = Sitting(Slow(), Script({"a": 1e-3}), Script({"a": 1e-3}), RULES).run(
        ["a"], [Lane.THROUGHPUT], QUICK_BUDGET
    )
    assert record.plan.host_paced is disturbed
    assert all(bool(sample.disturbances) is disturbed for sample in record.samples)
