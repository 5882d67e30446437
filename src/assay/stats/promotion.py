"""The gate of promotion: every condition by name, none of them waivable here.

A waiver is a record of its own that changes the label of a result, never the answer of this gate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.stats.many import confirm
from assay.stats.task_rule import task_margin


@dataclass(frozen=True)
class PromotionCase:
    """What has been shown for one sealed candidate."""

    verdict: TaskVerdict
    confirmation: TaskVerdict | None
    """Fresh processes, new seeds."""
    candidate_hash: str
    verdict_hash: str
    """The hash of the sources that the verdict was given on."""
    confirmation_hash: str | None
    sanitizer_clean: bool | None
    """None where no sanitizer ran."""
    profiled_before: bool
    profiled_after: bool


def unmet(case: PromotionCase, rules: Rules) -> tuple[str, ...]:
    """The conditions that stand between a candidate and promotion; empty means promoted."""
    problems = [*_bad_rows(case.verdict), *_weak_gain(case.verdict), *_lost_rows(case, rules)]
    if case.confirmation is None:
        problems.append("not measured again in fresh processes with new seeds")
    elif confirm(case.verdict, case.confirmation) is not Status.FASTER:
        problems.append(f"the confirmation says {case.confirmation.verdict}")
    hashes = {case.candidate_hash, case.verdict_hash, case.confirmation_hash} - {None}
    if len(hashes) != 1:
        problems.append("the evidence is about other sources than the candidate's")
    if case.sanitizer_clean is None:
        problems.append("no clean sanitizer run")
    elif not case.sanitizer_clean:
        problems.append("the sanitizer found errors")
    if not (case.profiled_before and case.profiled_after):
        problems.append("no profile before and after")
    return tuple(problems)


def _bad_rows(verdict: TaskVerdict) -> list[str]:
    return [f"row {v.row} is {v.status}" for v in verdict.rows if not v.status.is_timed]


def _weak_gain(verdict: TaskVerdict) -> list[str]:
    timed = [v for v in verdict.rows if v.lane is Lane.THROUGHPUT and v.measurement is not None]
    if verdict.interval is None or not timed:
        return ["there is no geomean"]
    bound = math.exp(task_margin(timed))
    if verdict.interval[0] <= bound:
        return [f"geomean's lower bound {verdict.interval[0]:.4f} is not above {bound:.4f}"]
    return []


def _lost_rows(case: PromotionCase, rules: Rules) -> list[str]:
    return [
        f"row {v.row} in lane {v.lane} is lost: upper bound {v.interval[1]:.4f}"
        for v in case.verdict.rows
        if v.lane.decides and v.interval is not None and v.interval[1] < rules.loss_bound
    ]
