"""Which cores are taken, and what their pace is."""

from __future__ import annotations

import itertools
import os

import pytest

from assay.device.runners import cores
from assay.device.runners.cores import Cores
from assay.device.runners.cores import assign
from assay.device.runners.cores import pace
from assay.device.runners.cores import siblings_of
from assay.device.runners.cores import steadiest


def alone(core: int) -> set[int]:
    return {core}


def test_one_core_is_shared_and_said_to_be() -> None:
    assert assign([3], alone) == Cores(3, 3)
    assert assign([3], alone).shared


def test_the_runners_get_the_core_that_is_slow_least_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Core 1 is fast, and half of the time it is not; core 2 is steady; core 3 had an accident.
    paces = {
        1: itertools.cycle([10, 30]),
        2: itertools.repeat(12),
        3: itertools.chain([40], itertools.repeat(11)),
    }
    monkeypatch.setattr(cores, "pace", lambda core: next(paces[core]))
    assert steadiest([0, 1, 2], alone) == Cores(referee=0, runner=2)
    assert steadiest([0, 1, 2, 3], alone) == Cores(referee=0, runner=3)


def test_with_two_cores_there_is_nothing_to_choose() -> None:
    assert steadiest([0, 1], alone) == Cores(referee=0, runner=1)


def test_a_sibling_of_the_referee_is_not_for_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "pace", lambda core: core)
    found = steadiest(range(6), lambda core: {core, core ^ 1})
    assert found == Cores(referee=0, runner=2)


def test_after_a_trial_the_thread_is_back_where_it_was() -> None:
    home = os.sched_getaffinity(0)
    assert pace(max(home)) > 0
    assert os.sched_getaffinity(0) == home


def test_a_core_is_its_own_sibling_where_the_kernel_does_not_say() -> None:
    assert siblings_of(99_999) == {99_999}
