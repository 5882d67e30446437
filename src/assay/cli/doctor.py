"""`assay doctor`: what this host can judge, what it lacks, and how to get it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from assay.cli._options import AsJson
from assay.cli._progress import progress_bar
from assay.cli._show import terminal
from assay.device.doctor import Finding
from assay.device.doctor import Mark
from assay.judge.doctor import examine_host
from assay.judge.doctor import is_fit
from assay.judge.doctor import measure_noise
from assay.spec.errors import ExitStatus
from assay.task import load_baseline
from assay.task import load_task
from assay.task.judging import make_case

_NOISE_TASK = "cpu/rms_norm"
_COLOURS = {Mark.OK: "green", Mark.MISS: "red", Mark.INFO: "yellow"}


def doctor(
    noise: Annotated[
        bool, typer.Option("--noise", help="Judge a baseline against itself, some seconds.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what this host can judge, what is missing, and how to get it."""
    findings = examine_host()
    fit = is_fit(findings)
    if noise:
        findings += (_noise(as_json),)
    if as_json:
        print(json.dumps({"fit": fit, "findings": [f.content() for f in findings]}, indent=2))
    else:
        _show(findings, fit)
    raise typer.Exit(ExitStatus.YES if fit else ExitStatus.NO)


def _noise(quiet: bool) -> Finding:
    task = load_task(_NOISE_TASK)
    baseline = load_baseline(task)
    with progress_bar(quiet) as report:
        return measure_noise(make_case(task, baseline, baseline, unadmitted=True), report=report)


def _show(findings: tuple[Finding, ...], fit: bool) -> None:
    """The checklist, then what to do, so that a narrow terminal folds neither."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "what", "found", "what it is for"):
        table.add_column(column, overflow="fold", no_wrap=column in {"", "what"})
    for finding in findings:
        mark = Text(finding.mark, style=_COLOURS[finding.mark])
        table.add_row(mark, *map(Text, (finding.name, finding.found, finding.enables)))
    console = terminal()
    console.print(table)
    for finding in findings:
        if finding.next_step:
            line = f"{finding.mark} {finding.name}: {finding.next_step}"
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    missing = sum(finding.mark is Mark.MISS for finding in findings)
    summary = "the cpu judge works here at its full label"
    if not fit:
        summary = f"the cpu judge lacks {missing} of what it needs for its full label"
    console.print(summary, soft_wrap=True, highlight=False)
