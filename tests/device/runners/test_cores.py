"""Which cores are taken, and what their pace is."""

from __future__ import annotations

import os

import pytest

from assay.device.runners import cores
from assay.device.runners.cores import Cores
from assay.device.runners.cores import QuietCore
from assay.device.runners.cores import assign
from assay.device.runners.cores import pace
from assay.device.runners.cores import siblings_of


def alone(core: int) -> set[int]:
    return {core}


def test_one_core_is_shared_and_said_to_be() -> None:
    assert assign([3], alone) == Cores(3, 3)
    assert assign([3], alone).shared


@pytest.fixture
def paces(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """What each core's trial will take, for a test to change."""
    found = dict.fromkeys(range(8), 100)
    monkeypatch.setattr(cores, "pace", lambda core: found[core])
    return found


def test_a_quiet_core_is_kept(paces: dict[int, int]) -> None:
    quiet = QuietCore(3, [1, 2, 3])
    paces[1] = 50
    assert quiet.settle() == 1.0
    assert quiet.core == 3


def test_a_core_that_became_slow_is_left_for_one_that_is_not(paces: dict[int, int]) -> None:
    quiet = QuietCore(3, [1, 2, 3])
    paces.update({3: 190, 1: 200})
    assert quiet.settle() == 1.0
    assert quiet.core == 2
    # The one that was left can be had again.
    paces.update({2: 180, 3: 104})
    assert quiet.settle() == 1.04
    assert quiet.core == 3


def test_where_all_are_slow_it_stays_and_says_so(paces: dict[int, int]) -> None:
    quiet = QuietCore(3, [1, 2, 3])
    paces.update({1: 170, 2: 180, 3: 190})
    assert quiet.settle() == 1.9
    assert quiet.core == 3


def test_what_is_usual_follows_fast_cores_and_not_slow_ones(paces: dict[int, int]) -> None:
    quiet = QuietCore(3, [3])
    paces[3] = 190
    assert [quiet.slowness(3) for _ in range(9)] == [1.9] * 9
    paces[3] = 95
    for _ in range(9):
        quiet.slowness(3)
    assert quiet.slowness(3) == 1.0


def test_cores_that_are_slow_at_first_do_not_become_the_measure(paces: dict[int, int]) -> None:
    paces.update({1: 200, 2: 200, 3: 200})
    quiet = QuietCore(3, [1, 2, 3, 4, 5])
    assert quiet.slowness(4) == 1.0


def test_of_quiet_cores_the_one_that_was_quiet_before_is_taken(paces: dict[int, int]) -> None:
    quiet = QuietCore(3, range(8))
    paces.update(dict.fromkeys((0, 1, 2, 4, 5, 6), 200))
    for core in range(8):
        quiet.slowness(core)  # what each of them is like
    paces.update({**dict.fromkeys(range(8), 100), 3: 200})
    assert quiet.settle() == 1.0
    assert quiet.core == 7


def test_the_referees_core_and_its_siblings_are_not_for_runners(
    monkeypatch: pytest.MonkeyPatch, paces: dict[int, int]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    monkeypatch.setattr(cores, "siblings_of", lambda core: {core, core ^ 1})
    quiet = QuietCore.among(Cores(referee=0, runner=5))
    visited = set()
    for _ in range(3):
        paces[quiet.core] = 300
        quiet.settle()
        visited.add(quiet.core)
    assert visited == {2, 3, 4}


def test_after_a_trial_the_thread_is_back_where_it_was() -> None:
    home = os.sched_getaffinity(0)
    assert pace(max(home)) > 0
    assert os.sched_getaffinity(0) == home


def test_a_core_is_its_own_sibling_where_the_kernel_does_not_say() -> None:
    assert siblings_of(99_999) == {99_999}
