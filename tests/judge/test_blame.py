"""Who is blamed for a baseline that fails: only a candidate beside which it fails, and it alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from typing import cast

import pytest

from assay.device._base import Reading
from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.judge.blame import culprit
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind

BASELINE, CANDIDATE = cast(Program, "baseline"), cast(Program, "candidate")


class Bench(AbstractContextManager["Bench"]):
    """A device and its processes in one: who is up, and what each of them does in its turn."""

    def __init__(
        self, *, alone: bool, beside: bool, own: bool = False, starts: bool = True
    ) -> None:
        self.fails = {False: alone, True: beside}
        self.own = own
        self.starts = starts
        self.up: list[Any] = []

    def start(self, program: Any) -> Any:
        if program == CANDIDATE and not self.starts:
            raise ProcessFailure(Status.CRASH, "it does not start")
        self.up.append(program)
        bench = self

        class Running(AbstractContextManager["Running"]):
            def time(self, row: str, lane: Lane, launches: int, warm: int) -> Reading:
                if program == CANDIDATE and bench.own:
                    raise violation(ViolationKind.EARLY_RING, "it rang early")
                if program == BASELINE and bench.fails[CANDIDATE in bench.up]:
                    raise violation(ViolationKind.EARLY_RING, "the device was busy")
                return Reading(1000)

            def __exit__(self, *_: object) -> None:
                bench.up.remove(program)

        return Running()

    def __exit__(self, *_: object) -> None:
        assert not self.up

    def found(self) -> ProcessFailure | None:
        with self:
            device = cast(RunnerDevice, self)
            return culprit(device, BASELINE, CANDIDATE, "row", Lane.THROUGHPUT)


def test_a_baseline_that_fails_only_beside_the_candidate_accuses_it() -> None:
    found = Bench(alone=False, beside=True).found()
    assert found is not None
    assert found.violation is ViolationKind.OUT_OF_TURN
    assert "alone it does not: the device was busy" in str(found)


@pytest.mark.parametrize(("alone", "beside"), [(True, True), (True, False), (False, False)])
def test_what_is_not_shown_accuses_nobody(alone: bool, beside: bool) -> None:
    assert Bench(alone=alone, beside=beside).found() is None


def test_a_candidate_that_fails_by_itself_is_told_its_own_failure() -> None:
    found = Bench(alone=False, beside=True, own=True).found()
    assert found is not None
    assert (found.violation, str(found)) == (ViolationKind.EARLY_RING, "it rang early")


def test_a_candidate_that_does_not_start_again_is_told_so() -> None:
    found = Bench(alone=False, beside=True, starts=False).found()
    assert found is not None
    assert found.status is Status.CRASH
