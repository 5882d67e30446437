"""`assay sanitize`: does a candidate touch memory, share it and wait as it may?"""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._options import read_budget
from assay.cli._progress import progress_bar
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.judge.sanitizer_report import ALL_TOOLS
from assay.judge.sanitizer_report import Tool
from assay.ledger import default_path
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.sanitizing import DEFAULT_DEVICE
from assay.task.sanitizing import Sanitized
from assay.task.sanitizing import sanitize as sanitize_task


def sanitize(
    task: Annotated[str, typer.Argument(help="A task's address, or its folder.")],
    candidate: Annotated[str, typer.Option(help="A solution's name or folder.")],
    tool: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(ALL_TOOLS)}; may be repeated. All by default."),
    ] = None,
    budget: Annotated[str, typer.Option(help="For all tools together, as 90s or 5m.")] = "5m",
    device: Annotated[str, typer.Option(help="Where to run: cuda, cuda:1.")] = DEFAULT_DEVICE,
    as_json: AsJson = False,
) -> None:
    """Run NVIDIA's compute-sanitizer over a candidate on small rows; a gate of promotion."""
    tools = _read_tools(tool)
    seconds = read_budget(budget, quick=False).task_seconds
    assert seconds is not None  # a budget that was written down has an end
    with progress_bar(as_json) as report:
        done = sanitize_task(
            task,
            candidate,
            ledger=default_path(),
            tools=tools,
            seconds=seconds,
            device=device,
            report=report,
        )
    if as_json:
        print_json({**done.report.to_row(), "ledger_id": done.row.id})
    else:
        _show(done)
    if not done.report.clean:
        raise typer.Exit(ExitStatus.NO)


def _read_tools(names: list[str] | None) -> tuple[Tool, ...]:
    for name in names or ():
        if name not in ALL_TOOLS:
            raise UsageError(
                f"no tool {quote(name)}",
                where="--tool",
                next_step=f"one of {', '.join(ALL_TOOLS)}",
            )
    return tuple(Tool(name) for name in dict.fromkeys(names or ALL_TOOLS))


def _show(done: Sanitized) -> None:
    report = done.report
    word = "clean" if report.clean else "NOT CLEAN"
    print(f"{report.task}: {report.candidate} is {word} on {len(report.rows)} small rows")
    print_table(
        ("tool", "seconds", "findings", "result"),
        [(run.tool, round(run.seconds, 1), run.printed, run.verdict) for run in report.runs],
    )
    if report.findings:
        print()
        print_table(
            ("tool", "count", "source", "what", "kernel"),
            [
                (tool, f.count, f.source, _kind(f.kind, f.excused), f.kernel)
                for tool, f in report.findings
            ],
        )
    print(f"ledger id {done.row.id}")


def _kind(kind: str, excused: bool) -> str:
    return f"{kind} (the baseline too)" if excused else kind
