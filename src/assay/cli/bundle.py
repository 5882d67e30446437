"""`assay bundle`: make, verify, replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from assay.cli._options import AsJson
from assay.cli._options import read_budget
from assay.cli._progress import progress_bar
from assay.cli._show import headline
from assay.cli._show import terminal
from assay.judge.bundle_verify import BundleReport
from assay.judge.bundle_verify import verify_bundle
from assay.ledger import Ledger
from assay.ledger import default_path
from assay.spec.errors import ExitStatus
from assay.task.bundle import make_bundle
from assay.task.replay import Replay
from assay.task.replay import replay as replay_bundle

app = typer.Typer(help="A claim in one file: make it, verify it, measure it again.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="A bundle, as NAME.assay.")]


@app.command()
def make(
    row_id: Annotated[str, typer.Argument(metavar="ID", help="The verdict's ledger id.")],
    to: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="The ledger folder.")] = None,
    task: Annotated[
        str | None, typer.Option(help="The task's folder, where its name does not find it.")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="A solution's folder outside the task; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a verdict with its task, sources and samples into one file."""
    report = make_bundle(
        Ledger(ledger or default_path()), row_id, to, task=task, folders=source or ()
    )
    if as_json:
        _print_report(report)
    else:
        print(report.path)


@app.command()
def verify(path: File, as_json: AsJson = False) -> None:
    """Check every byte of a bundle, and work its verdict out again from its samples."""
    report = verify_bundle(path)
    if as_json:
        _print_report(report)
    else:
        _show_report(terminal(), report)
    if not report.ok:
        raise typer.Exit(ExitStatus.NO)


@app.command()
def replay(
    path: File,
    quick: Annotated[bool, typer.Option("--quick", help="60 s of device time at most.")] = False,
    budget: Annotated[
        str | None, typer.Option(help="Device time for the whole task, as 60s or 5m.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a bundle's claim again on this host, and say whether it agrees."""
    with progress_bar(as_json) as report:
        found = replay_bundle(path, budget=read_budget(budget, quick), report=report)
    if as_json:
        more = {"intervals_meet": found.intervals_meet}
        print(json.dumps(found.content() | more, indent=2))
    else:
        _show_replay(terminal(), found)
    raise typer.Exit(found.agreement.exit_status)


def _print_report(report: BundleReport) -> None:
    print(json.dumps(report.content() | {"ok": report.ok}, indent=2))


def _show_report(console: Console, report: BundleReport) -> None:
    if report.claim is not None:
        console.print(f"claim   {headline(report.claim)}", soft_wrap=True, highlight=False)
    for line in report.remarks:
        console.print(f"remark  {line}", soft_wrap=True, highlight=False, markup=False)
    for line in report.problems:
        console.print(f"problem {line}", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"{report.entries} entries, {report.recomputed} row verdicts computed again from their "
        f"samples, {len(report.problems)} problems",
        soft_wrap=True,
        highlight=False,
    )


def _show_replay(console: Console, found: Replay) -> None:
    console.print(f"claimed {headline(found.claimed)}", soft_wrap=True, highlight=False)
    console.print(f"here    {headline(found.found)}", soft_wrap=True, highlight=False)
    if found.intervals_meet is not None:
        meet = "meet" if found.intervals_meet else "do not meet"
        console.print(f"the two intervals {meet}", highlight=False)
    for line in found.hardware or ("the same kind of hardware",):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    said = found.agreement.replace("_", " ")
    console.print(f"replay: [bold]{said}[/]", highlight=False)
