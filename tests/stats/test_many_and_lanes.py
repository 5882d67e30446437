from __future__ import annotations

import pytest

from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.stats.lanes import reconcile
from assay.stats.many import confirm
from assay.stats.many import holm


def test_holm_stops_at_the_first_claim_that_fails() -> None:
    # 0.01 <= 0.05/4, 0.02 > 0.05/3: the second fails, so 0.024 (<= 0.05/2) is not even asked.
    assert holm({"a": 0.01, "b": 0.02, "c": 0.024, "d": 0.9}, 0.05) == {"a"}


def test_holm_accepts_all_when_each_meets_its_own_bound() -> None:
    assert holm({"a": 0.012, "b": 0.016, "c": 0.024, "d": 0.05}, 0.05) == {"a", "b", "c", "d"}
    assert holm({}, 0.05) == frozenset()


@pytest.mark.parametrize(
    ("selection", "confirmation", "reported"),
    [
        (Status.FASTER, Status.FASTER, Status.FASTER),
        (Status.FASTER, Status.SAME, Status.SAME),
        (Status.FASTER, Status.SLOWER, Status.UNCLEAR),
        (Status.SLOWER, Status.FASTER, Status.UNCLEAR),
        (Status.FASTER, Status.WRONG_VALUE, Status.WRONG_VALUE),
    ],
)
def test_the_confirmation_is_reported_never_the_selection(
    selection: Status, confirmation: Status, reported: Status
) -> None:
    first = TaskVerdict(task="t", verdict=selection, rows=())
    second = TaskVerdict(task="t", verdict=confirmation, rows=())
    assert confirm(first, second) is reported


@pytest.mark.parametrize(
    ("throughput", "others", "status"),
    [
        (Status.FASTER, [Status.FASTER], Status.FASTER),
        (Status.FASTER, [Status.SAME], Status.FASTER),
        (Status.FASTER, [Status.UNCLEAR], Status.FASTER),
        (Status.FASTER, [Status.SAME, Status.SLOWER], Status.UNCLEAR),
        (Status.SLOWER, [Status.FASTER], Status.UNCLEAR),
        (Status.SAME, [Status.FASTER], Status.SAME),
        (Status.UNCLEAR, [Status.FASTER], Status.UNCLEAR),
    ],
)
def test_another_lane_may_veto_and_never_win(
    throughput: Status, others: list[Status], status: Status
) -> None:
    assert reconcile(throughput, others) is status
