"""What a refresh changes in speed: the newer version judged against the older one."""

from __future__ import annotations

from assay.judge.referee import Referee
from assay.judge.referee import Report
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import Budget
from assay.spec.verdict import TaskVerdict
from assay.task.judging import make_case
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder


def compare(
    task: TaskFolder,
    before: LoadedSolution,
    after: LoadedSolution,
    *,
    device: str | None = None,
    budget: Budget = DEFAULT_BUDGET,
    report: Report | None = None,
) -> TaskVerdict:
    """Judge one version of a baseline as a candidate against another.

    It goes into no ledger: there it would pass for a solution that beat the baseline.
    """
    case = make_case(task, after, before, unadmitted=True, labels=("baseline against baseline",))
    return Referee(case, device=device, budget=budget, report=report).judge().verdict
