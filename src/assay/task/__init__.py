"""Tasks: found by address, loaded, frozen, and made."""

from __future__ import annotations

from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task

__all__ = [
    "LoadedSolution",
    "TaskFolder",
    "find_solution",
    "load_baseline",
    "load_solution",
    "load_task",
]
