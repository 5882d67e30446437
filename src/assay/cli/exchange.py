"""`assay task import`, `assay task export` and `assay ledger export`: to and from other forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._table import print_json
from assay.ledger import Ledger
from assay.ledger import default_path
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task import load_task
from assay.task.exchange.form import Form
from assay.task.exchange.names import one_line


def import_task(
    source: Annotated[Path, typer.Argument(metavar="FILE_OR_FOLDER", help="What to import.")],
    into: Annotated[
        Path, typer.Option("--into", help="A new or empty folder; a task's for a ModelNew alone.")
    ],
    form: Annotated[
        Form | None, typer.Option("--from", help="Its form; recognised when left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a task of a KernelBench problem, a FlashInfer-Bench definition or a KDA-Pilot task."""
    from assay.task.exchange.importing import import_from

    made = import_from(source, into, form)
    if as_json:
        print_json(made.content())
        return
    rows = len(made.task.workloads.rows)
    plural = "" if rows == 1 else "s"
    print(f"{made.form}: {made.task.task.name}, {rows} row{plural}, in {quote(into)}")
    for name in made.solutions:
        print(f"solution  {name}")
    for line in made.left_out:
        print(f"left out  {one_line(line)}")
    for line in made.remarks:
        print(f"remark    {one_line(line)}")


def export_task(
    address: Annotated[str, typer.Argument(metavar="TASK", help="An address or a folder.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    form: Annotated[Form, typer.Option("--to", help="Whose form: kda.")],
    solution: Annotated[
        str | None, typer.Option("--solution", help="The one to carry; the only one by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a task as a KDA-Pilot task folder."""
    from assay.task.exchange.kda_export import export_kda

    if form is not Form.KDA:
        raise UsageError(
            f"a task is not exported to {form}",
            where="--to",
            next_step="kda is a form to export to",
        )
    made = export_kda(load_task(address), folder, solution)
    if as_json:
        print_json(made.content())
        return
    print(f"{form}: {made.rows} rows in {quote(folder)}, solution {made.solution or 'none'}")
    for line in made.left_out:
        print(f"left out  {one_line(line)}")


def export_ledger(
    traces: Annotated[
        Path, typer.Option("--flashinfer-trace", help="A new file of FlashInfer-Bench traces.")
    ],
    ledgers: Annotated[
        list[Path] | None, typer.Argument(help="Ledger folders; this project's when left out.")
    ] = None,
    tasks: Annotated[
        list[Path] | None, typer.Option("--task", help="A task's folder, for axes and names.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write every row of every verdict as a FlashInfer-Bench trace, one a line."""
    from assay.task.exchange.flashinfer_trace import export_traces

    sources = [Ledger(path) for path in ledgers or [default_path()]]
    report = export_traces(sources, traces, [load_task(folder) for folder in tasks or ()])
    if as_json:
        print_json(report.content())
        return
    print(f"{report.traces} traces in {quote(traces)}")
    for line in report.left_out:
        print(f"left out  {one_line(line)}")
