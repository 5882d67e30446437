"""Surveys of a tiny task: what is found on a row, and what is said of what fails."""

from __future__ import annotations

import pytest
import torch

from assay.judge.deviation import deviation
from assay.judge.survey import TWIN
from assay.judge.survey import Survey
from assay.judge.survey_record import Entrant
from assay.judge.survey_record import Pace
from assay.judge.survey_record import SurveyedRow
from assay.judge.survey_record import Timing
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.judge.pinning import pinned
from tests.judge.test_authentic import OUTSIDE
from tests.judge.test_authentic import OUTSIDE_ADAPTER
from tests.judge.test_build import CPP

BOTH = (Lane.THROUGHPUT, Lane.LATENCY)


def surveyed(*entrants: Entrant, pace: Pace | None = None) -> SurveyedRow:
    (found,) = Survey(case(entrants[0].contender), entrants, pace=pace).run()
    return found


def test_each_solution_has_its_figures_in_its_lanes_and_the_twin_too() -> None:
    found = surveyed(
        Entrant("plain", contender(PLAIN), BOTH), Entrant("cpp", contender(CPP, language="cpp"))
    )
    wanted = {("plain", lane) for lane in BOTH} | {
        (name, Lane.THROUGHPUT) for name in ("cpp", TWIN)
    }
    assert set(found.timings) == wanted
    assert all(len(timing.nanoseconds) == 4 for timing in found.timings.values())
    assert (found.bytes_read, found.bytes_written) == (4 * 4096, 4 * 4096)
    assert found.failures == {}
    assert found.errors["plain"].relative < 1e-6
    assert TWIN not in found.errors


def test_processes_and_batches_are_as_many_as_were_asked_for() -> None:
    found = surveyed(Entrant("plain", contender(PLAIN)), pace=Pace(generations=1, readings=3))
    assert len(found.timings["plain", Lane.THROUGHPUT].nanoseconds) == 3


def test_what_is_wrong_or_raises_has_no_figures_and_the_others_have() -> None:
    found = surveyed(
        Entrant("plain", contender(PLAIN)),
        Entrant("wrong", contender(PLAIN + "    y *= 3\n")),
        Entrant("raises", contender(PLAIN + "    raise ValueError('no such size')\n")),
        Entrant("broken", contender("import nothing_of_that_name\n" + PLAIN)),
        pace=Pace(1, 1),
    )
    assert {name for name, _ in found.timings} == {"plain", TWIN}
    assert found.failures["wrong"].startswith("wrong: off by ")
    assert "no such size" in found.failures["raises"]
    assert "nothing_of_that_name" in found.failures["broken"]


def test_a_solution_out_of_a_wheel_shows_its_kernels_or_has_no_figures() -> None:
    real = pinned(kernels=["aten::mul*"])
    other = pinned(kernels=["_a_kernel_of_its_own"])
    foreign = pinned(OUTSIDE, adapter=OUTSIDE_ADAPTER, entry="wsgiref.util:guess_scheme")
    found = surveyed(
        Entrant("real", real),
        Entrant("other", other),
        Entrant("foreign", foreign),
        pace=Pace(1, 1),
    )
    assert {name for name, _ in found.timings} == {"real", TWIN}
    assert "aten::mul" in found.kernels["real"]
    assert "_a_kernel_of_its_own" in found.failures["other"]
    assert "the baseline is not the real one" in found.failures["foreign"]
    assert found.content()["kernels"]["real"] == found.kernels["real"]


def test_a_source_that_does_not_compile_is_said_before_anything_is_timed() -> None:
    with pytest.raises(UsageError, match="cpp does not build"):
        surveyed(Entrant("cpp", contender("this is no C++", language="cpp")))


def test_a_timing_is_told_by_the_batch_in_the_middle() -> None:
    timing = Timing(launches=10, host_paced=True, nanoseconds=[30_000, 10_000, 20_000])
    assert timing.microseconds == 2.0
    assert timing.spread == 1.0
    assert timing.content()["us"] == 2.0


def test_a_deviation_is_relative_to_the_truth_and_in_last_places() -> None:
    truth = torch.tensor([3.0, 4.0], dtype=torch.float64)
    exact = deviation(truth, truth.to(torch.float32))
    assert (exact.relative, exact.worst_ulps, exact.elements) == (0.0, 0.0, 2)
    off = deviation(truth, torch.tensor([3.0, 4.0 + 2**-21], dtype=torch.float32))
    assert off.worst_ulps == 1.0
    assert off.relative == pytest.approx(2**-21 / 5)
    assert off.is_about_right
    missing = deviation(truth, torch.tensor([float("nan"), 4.0]))
    assert not missing.is_about_right


def test_whole_numbers_are_right_or_wrong() -> None:
    truth = torch.tensor([1, 2, 3, 4])
    assert deviation(truth, truth.to(torch.int32)).relative == 0.0
    assert deviation(truth, torch.tensor([1, 2, 3, 5], dtype=torch.int32)).relative == 0.5
