"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import QUICK_BUDGET
from assay.spec.rules import Budget

DeviceName = Annotated[
    str | None,
    typer.Option("--device", help="Where to run: cpu, cuda, cuda:1. The task's own by default."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(s|m|min)?")


def read_budget(text: str | None, quick: bool) -> Budget:
    """`60s` or `2m` of device time for the whole task; 20 s a row and lane by default."""
    if text is None:
        return QUICK_BUDGET if quick else DEFAULT_BUDGET
    match = _DURATION.fullmatch(text)
    seconds = float(match[1]) * (60 if match[2] in {"m", "min"} else 1) if match else 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(
            f"{quote(text)} is no length of time", where="--budget", next_step="write 60s or 2m"
        )
    return Budget(task_seconds=seconds)


def read_lanes(names: list[str] | None, available: tuple[Lane, ...]) -> tuple[Lane, ...]:
    """The lanes asked for; the throughput lane, which decides, is always among them."""
    wanted = dict.fromkeys([Lane.THROUGHPUT.value, *(names or [])])
    known = {lane.value: lane for lane in available}
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"no lane {quote(name)} here",
                where="--lane",
                next_step=f"one of {', '.join(known)}",
            )
    return tuple(known[name] for name in wanted)
