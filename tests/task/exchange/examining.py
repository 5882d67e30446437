"""Questions of the judge without its clock: is an imported task's solution right?"""

from __future__ import annotations

from pathlib import Path

from assay.device import open_judging_device
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.case import Case
from assay.judge.exam import Examiner
from assay.judge.exam import questions
from assay.judge.oracle import Oracle
from assay.spec.verdict import RowVerdict
from assay.task import find_solution
from assay.task import load_baseline
from assay.task import load_task
from assay.task.judging import make_case


def examined(folder: Path, candidate: str) -> RowVerdict | None:
    """The first wrong answer on any row, distribution or hidden row; None: all were right."""
    task = load_task(folder)
    case: Case = make_case(
        task, find_solution(task, candidate), load_baseline(task), unadmitted=True
    )
    with open_judging_device("cpu") as device:
        flags = flags_for((case.baseline, case.candidate), device.target)
        first = build(case.task, case.baseline, flags, device.target).program
        second = build(case.task, case.candidate, flags, device.target).program
        with (
            Oracle(device, case) as oracle,
            device.start(first) as baseline,
            device.start(second) as solution,
        ):
            examiner = Examiner(case, oracle, baseline, solution)
            return examiner.examine(questions(case, 1, 2), lambda _: None)
