"""Many candidates: choosing the best of several on noisy scores overstates it.

Either the claims are tested together (Holm), or the winner is measured again on data that took no
part in the choice, and only that second number is reported.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict


def holm(p_values: Mapping[str, float], alpha: float) -> frozenset[str]:
    """The names whose claims stand when all are tested together at level alpha.

    >>> sorted(holm({"a": 0.01, "b": 0.04, "c": 0.03}, 0.05))
    ['a']
    """
    accepted: set[str] = set()
    ordered = sorted(p_values.items(), key=lambda item: (item[1], item[0]))
    for index, (name, p) in enumerate(ordered):
        if p > alpha / (len(ordered) - index):
            break
        accepted.add(name)
    return frozenset(accepted)


def confirm(selection: TaskVerdict, confirmation: TaskVerdict) -> Status:
    """The status to report for a candidate that was selected: the confirmation's, unless the two
    measurements contradict each other."""
    opposite = {Status.FASTER: Status.SLOWER, Status.SLOWER: Status.FASTER}
    if opposite.get(selection.verdict) is confirmation.verdict:
        return Status.UNCLEAR
    return confirmation.verdict
