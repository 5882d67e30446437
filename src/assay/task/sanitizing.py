"""Sanitizing a task's candidate by its address: load, build, watch, and put it on record."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.device import open_judging_device
from assay.device.environment import environment
from assay.device.runners import RunnerDevice
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.referee import Report
from assay.judge.sanitizer import DEFAULT_SECONDS
from assay.judge.sanitizer import find_sanitizer
from assay.judge.sanitizer import sanitize as watch
from assay.judge.sanitizer_job import small_rows
from assay.judge.sanitizer_report import ALL_TOOLS
from assay.judge.sanitizer_report import SANITIZER
from assay.judge.sanitizer_report import SanitizerReport
from assay.judge.sanitizer_report import Tool
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.baseline import LocalBaseline
from assay.task.judging import contender_of
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_task

DEFAULT_DEVICE = "cuda"
_LINES = "-lineinfo"


@dataclass(frozen=True)
class Sanitized:
    """A report, and the ledger row that holds it."""

    report: SanitizerReport
    row: Row


def sanitize(
    task: str | Path,
    candidate: str | Path,
    *,
    ledger: Path,
    tools: Sequence[Tool] = ALL_TOOLS,
    seconds: float = DEFAULT_SECONDS,
    device: str = DEFAULT_DEVICE,
    report: Report = lambda _: None,
) -> Sanitized:
    """Does the candidate touch memory, share it and wait as it may? On small rows, all tools
    together in no more than `seconds`, the baseline's runs included where they are needed."""
    folder = load_task(task)
    contender = find_solution(folder, candidate)
    executable = find_sanitizer()
    sitting = _Sitting(folder, open_judging_device(device), executable, report)
    with Ledger(ledger).writer(environment()) as writer:
        found = sitting.watched(contender, tools, seconds)
        if found.foreign_tools and isinstance(folder.task.primary_baseline, LocalBaseline):
            left = seconds - sum(run.seconds for run in found.runs)
            found = found.against(sitting.watched(load_baseline(folder), found.foreign_tools, left))
        row = writer.append(SANITIZER, found.to_row())
    return Sanitized(found, row)


class _Sitting:
    """The same rows with the same content for both sides."""

    def __init__(
        self, folder: TaskFolder, device: RunnerDevice, executable: str, report: Report
    ) -> None:
        self._folder = folder
        self._device = device
        self._executable = executable
        self._report = report
        self._seed = secrets.randbits(32)
        self._rows = small_rows(folder.task, folder.workloads.rows, self._seed)

    def watched(
        self, solution: LoadedSolution, tools: Sequence[Tool], seconds: float
    ) -> SanitizerReport:
        contender = contender_of(solution)
        target = self._device.target
        flags = flags_for((contender,), target)
        # Lines for the findings; the machine code stays what it is.
        lines = (_LINES,) if target.kind == DEFAULT_DEVICE else ()
        made = build(self._folder.task, contender, (*flags, *lines), target)
        return watch(
            contender,
            made.program,
            self._rows,
            device=self._device.torch_device,
            tools=tools,
            seconds=seconds,
            seed=self._seed,
            sanitizer=self._executable,
            report=self._report,
        )
