"""Imported: what became of somebody else's task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.task.exchange.form import Form
from assay.task.load import TaskFolder


@dataclass(frozen=True)
class Imported:
    form: Form
    task: TaskFolder
    solutions: tuple[str, ...] = ()
    """Those that came with it, by name."""
    left_out: tuple[str, ...] = ()
    """What could not be represented beside the task itself, each with its reason."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of how it is represented."""

    def content(self) -> dict[str, Any]:
        return {
            "form": self.form.value,
            "task": self.task.task.name,
            "path": str(self.task.path),
            "content_hash": self.task.content_hash,
            "rows": len(self.task.workloads.rows),
            "solutions": list(self.solutions),
            "left_out": list(self.left_out),
            "remarks": list(self.remarks),
        }
