"""Loose files on the command line of `assay judge`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.spec.errors import UsageError
from assay.task.loose import LooseTask
from assay.task.loose import parse_file
from assay.task.loose import write_loose_task
from assay.task.shapes import parse_option
from assay.task.shapes import parse_shape


@dataclass(frozen=True)
class LooseArguments:
    """What was typed; a task address and loose files exclude each other."""

    baseline: str | None
    candidate: str | None
    reference: str | None
    shapes: list[str] | None
    options: list[str] | None
    write: Path | None

    @property
    def given(self) -> bool:
        return any((self.baseline, self.reference, self.shapes, self.options, self.write))

    def task(self) -> LooseTask:
        for name in ("baseline", "candidate", "reference"):
            if getattr(self, name) is None:
                raise UsageError(
                    f"loose files need --{name} FILE:FUNCTION",
                    next_step="or name a task; assay task list shows what there is",
                )
        if not self.shapes:
            raise UsageError(
                "loose files need --shape", next_step="--shape x=4096x128:float32, and so on"
            )
        return LooseTask(
            reference=parse_file(str(self.reference)),
            baseline=parse_file(str(self.baseline)),
            candidate=parse_file(str(self.candidate)),
            shapes=tuple(parse_shape(text) for text in self.shapes),
            options=tuple(parse_option(text) for text in self.options or []),
        )


@contextmanager
def loose_task(arguments: LooseArguments) -> Iterator[str]:
    """The address of a task folder made from loose files; kept where --write says, else removed."""
    task = arguments.task()
    if arguments.write is not None:
        yield str(write_loose_task(task, arguments.write).path)
        return
    with tempfile.TemporaryDirectory(prefix="assay-loose-") as folder:
        yield str(write_loose_task(task, Path(folder) / "task").path)
