from __future__ import annotations

import dataclasses
import json
import os
import sys

import pytest
import torch

from assay.device.cuda.properties import read_properties
from assay.device.cuda.watch import DeviceState
from assay.device.cuda.watch import Watch
from assay.device.cuda.watch import disturbances
from assay.device.cuda.watch import foreign_processes
from assay.device.cuda.watch import reason_names
from assay.spec.sample import Disturbance
from tests.device.cuda.fakes import FakeNvml
from tests.device.cuda.fakes import NVMLLibraryMismatchError
from tests.device.cuda.fakes import give_nvml

THROTTLED = Disturbance.THROTTLED
FOREIGN_WORK = Disturbance.FOREIGN_WORK
CLOCK_STEP = Disturbance.CLOCK_STEP

CALM = DeviceState(
    sm_mhz=1980,
    memory_mhz=3201,
    temperature_c=41,
    power_w=118.5,
    throttle_reasons=0,
    processes=(),
)

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


def but(**changes: object) -> DeviceState:
    return dataclasses.replace(CALM, **changes)  # type: ignore[arg-type]


def between(before: DeviceState, after: DeviceState) -> tuple[Disturbance, ...]:
    return disturbances(before, after, {100, 101}, held=2)


# -- the rules


def test_a_calm_device_disturbs_nothing() -> None:
    assert between(CALM, CALM) == ()


@pytest.mark.parametrize("reason", [0x8, 0x20, 0x40, 0x80])
def test_slowdowns_throttle_whether_before_or_after(reason: int) -> None:
    slow = but(throttle_reasons=reason)
    assert between(slow, CALM) == between(CALM, slow) == (THROTTLED,)


@pytest.mark.parametrize("reason", [0x1, 0x2, 0x4, 0x10, 0x100, 0x200, 0x400, 0x800])
def test_all_other_reasons_do_not(reason: int) -> None:
    assert between(but(throttle_reasons=reason), but(throttle_reasons=reason)) == ()


def test_a_slowdown_beside_a_power_cap_is_seen() -> None:
    assert between(CALM, but(throttle_reasons=0x4 | 0x40)) == (THROTTLED,)


@pytest.mark.parametrize(
    ("before", "after", "stepped"),
    [
        (1980, 1980, False),
        # 3 % of 1000 is 30; the bound itself is still allowed, either way round.
        (1000, 1030, False),
        (1030, 1000, False),
        (1000, 1031, True),
        (1031, 1000, True),
        (345, 1980, True),
        (None, 1980, False),
        (1980, None, False),
    ],
)
def test_a_clock_steps_by_more_than_three_percent(
    before: int | None, after: int | None, stepped: bool
) -> None:
    found = between(but(sm_mhz=before), but(sm_mhz=after))
    assert found == ((CLOCK_STEP,) if stepped else ())


def test_the_memory_clock_is_no_matter() -> None:
    assert between(CALM, but(memory_mhz=1593)) == ()


def test_what_is_not_known_disturbs_nothing() -> None:
    assert between(DeviceState(), DeviceState()) == ()
    assert between(DeviceState(), CALM) == ()


def test_all_that_is_wrong_is_said_in_one_order() -> None:
    bad = but(throttle_reasons=0x8, sm_mhz=1000, processes=(100, 7))
    assert between(CALM, bad) == between(bad, CALM) == (THROTTLED, FOREIGN_WORK, CLOCK_STEP)


# -- whose processes


@pytest.mark.parametrize(
    ("listed", "held", "foreign"),
    [
        ((), 0, 0),
        ((7,), 0, 1),
        ((100,), 1, 0),
        ((100, 101), 2, 0),
        ((100, 101, 7), 2, 1),
        ((100, 7, 8), 1, 2),
        # A runner of ours that has ended, or not opened the device yet, hides nobody.
        ((100, 7), 2, 1),
        # None of ours in it: pids of another namespace, and only the number speaks.
        ((7, 8), 2, 0),
        ((7, 8, 9), 2, 1),
        ((0, 0, 0), 2, 1),
        ((7,), 2, 0),
        ((), 2, 0),
        (None, 2, 0),
    ],
)
def test_processes_of_others(listed: tuple[int, ...] | None, held: int, foreign: int) -> None:
    assert foreign_processes(but(processes=listed), {100, 101}, held) == foreign


# -- names


def test_every_reason_has_a_name() -> None:
    assert reason_names(0x7FF) == (
        "idle",
        "application-clock setting",
        "software power cap",
        "hardware slowdown",
        "sync boost",
        "software thermal slowdown",
        "hardware thermal slowdown",
        "power brake",
        "display-clock setting",
        "board limit",
        "reliability limit",
    )
    assert reason_names(0) == ()
    assert reason_names(0x801) == ("idle", "reason 0x800")


# -- reading


def test_a_state_holds_what_nvml_said(nvml: FakeNvml) -> None:
    nvml.answers["CurrentClocksEventReasons"] = 0x24
    nvml.answers["ComputeRunningProcesses"] = (100, 7)
    state = Watch(read_properties(0)).state()
    assert state == but(throttle_reasons=0x24, processes=(100, 7))
    assert state.reason_names == ("software power cap", "software thermal slowdown")


def test_an_older_package_is_asked_by_the_older_names(nvml: FakeNvml) -> None:
    del nvml.answers["CurrentClocksEventReasons"]
    nvml.answers["CurrentClocksThrottleReasons"] = 0x40
    # The newer name may also be there and refused by an older driver.
    nvml.answers["TemperatureV"] = {0: None}
    nvml.answers["Temperature"] = {0: 55}
    nvml.answers["ComputeRunningProcesses"] = NVMLLibraryMismatchError
    nvml.answers["ComputeRunningProcesses_v2"] = (7,)
    state = Watch(read_properties(0)).state()
    assert (state.throttle_reasons, state.temperature_c) == (0x40, 55)
    assert state.processes == (7,)


def test_what_a_device_refuses_is_unknown_and_the_rest_is_read(nvml: FakeNvml) -> None:
    for question in ("PowerUsage", "CurrentClocksEventReasons", "ComputeRunningProcesses"):
        nvml.answers[question] = None
    state = Watch(read_properties(0)).state()
    assert state == but(power_w=None, throttle_reasons=None, processes=None)


def test_the_slow_energy_counter_is_never_asked(nvml: FakeNvml) -> None:
    nvml.answers["TotalEnergyConsumption"] = 1
    Watch(read_properties(0)).state()
    assert "TotalEnergyConsumption" not in {what for what, _ in nvml.asked}


# -- without NVML


def test_without_the_package_states_are_unknown_and_one_label_says_so(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = read_properties(0)
    give_nvml(monkeypatch, None)
    watch = Watch(properties)
    assert watch.state() == DeviceState()
    assert watch.labels() == ("clocks not watched: install nvidia-ml-py",)
    assert watch.compare(watch.state(), watch.state(), {1}, held=1) == ()
    assert watch.summary() == {
        "readings": 0,
        "not_watched": "install nvidia-ml-py",
        "sm_mhz": None,
        "memory_mhz": None,
        "temperature_c": None,
        "power_w": None,
        "reasons": {},
        "disturbances": {"throttled": 0, "foreign_work": 0, "clock_step": 0},
    }


def test_other_reasons_not_to_watch(nvml: FakeNvml) -> None:
    properties = read_properties(0)
    stranger = dataclasses.replace(properties, uuid="GPU-unknown")
    assert Watch(stranger).labels() == ("clocks not watched: NVML does not know the device",)
    amd = dataclasses.replace(properties, kind="rocm")
    assert Watch(amd).labels() == ("clocks not watched: no reader for rocm",)
    nvml.init_error = "Driver Not Loaded"
    assert Watch(properties).labels() == (
        "clocks not watched: see that nvidia-smi works: Driver Not Loaded",
    )


# -- what is kept for the evidence


def test_the_summary_of_three_readings(nvml: FakeNvml) -> None:
    watch = Watch(read_properties(0))
    for clock, reasons, milliwatts in ((1980, 0x1, 100_000), (1965, 0x4, 650_500), (1000, 0x44, 0)):
        nvml.answers["ClockInfo"] = {1: clock, 2: 3201}
        nvml.answers["CurrentClocksEventReasons"] = reasons
        nvml.answers["PowerUsage"] = milliwatts
        watch.state()
    watch.compare(CALM, but(sm_mhz=1000, throttle_reasons=0x40), {100}, held=0)
    watch.compare(CALM, but(sm_mhz=1000), {100}, held=0)
    summary = watch.summary()
    assert summary == {
        "readings": 3,
        "not_watched": "",
        "sm_mhz": {"min": 1000, "median": 1965, "max": 1980},
        "memory_mhz": {"min": 3201, "median": 3201, "max": 3201},
        "temperature_c": {"min": 41, "median": 41, "max": 41},
        "power_w": {"min": 0.0, "median": 100.0, "max": 650.5},
        "reasons": {"hardware thermal slowdown": 1, "idle": 1, "software power cap": 2},
        "disturbances": {"throttled": 1, "foreign_work": 0, "clock_step": 2},
    }
    assert json.loads(json.dumps(summary)) == summary


def test_labels_name_what_limited_the_clock_but_neither_idle_nor_what_was_dropped(
    nvml: FakeNvml,
) -> None:
    watch = Watch(read_properties(0))
    assert watch.labels() == ()
    nvml.answers["CurrentClocksEventReasons"] = 0x1 | 0x4 | 0x40
    watch.state()
    nvml.answers["CurrentClocksEventReasons"] = 0x2 | 0x4
    watch.state()
    assert watch.labels() == (
        "clock limited by application-clock setting",
        "clock limited by software power cap",
    )


def test_a_list_of_another_namespace_is_labelled(nvml: FakeNvml) -> None:
    watch = Watch(read_properties(0))
    ours_are_in_it = but(processes=(100,))
    assert watch.compare(ours_are_in_it, ours_are_in_it, {100}, held=1) == ()
    assert watch.labels() == ()
    theirs = but(processes=(4711,))
    assert watch.compare(theirs, theirs, {100}, held=1) == ()
    assert watch.labels() == ("other processes on the device counted, not told apart",)


@pytest.mark.parametrize("processes", [None, ()])
def test_a_list_without_us_though_we_are_there_is_labelled_as_blind(
    nvml: FakeNvml, processes: tuple[int, ...] | None
) -> None:
    watch = Watch(read_properties(0))
    nobody = but(processes=processes)
    assert watch.compare(nobody, nobody, {100}, held=0) == ()
    assert watch.labels() == ()
    assert watch.compare(nobody, nobody, {100}, held=1) == ()
    assert watch.labels() == ("other processes on the device not visible",)


def test_a_device_that_hides_its_clock_is_labelled(nvml: FakeNvml) -> None:
    nvml.answers["ClockInfo"] = {1: None, 2: None}
    watch = Watch(read_properties(0))
    watch.state()
    assert watch.labels() == ("clocks not watched: the device does not say",)
    nvml.answers["ClockInfo"] = {1: 1980, 2: 3201}
    watch.state()
    assert watch.labels() == ()


# -- the real thing


@gpu
@pytest.mark.gpu
def test_a_real_device_in_use_by_nobody_else_is_not_foreign() -> None:
    pytest.importorskip("pynvml", reason="needs nvidia-ml-py")
    assert "pynvml" in sys.modules
    watch = Watch(read_properties(0))
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    state = watch.state()
    assert state.sm_mhz is not None
    assert 100 <= state.sm_mhz <= 4000
    assert state.temperature_c is not None
    assert 0 < state.temperature_c < 110
    assert state.throttle_reasons is not None
    assert FOREIGN_WORK not in watch.compare(state, state, {os.getpid()}, held=1)
    assert watch.summary()["readings"] == 1
