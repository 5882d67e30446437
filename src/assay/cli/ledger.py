"""`assay ledger`: verify, query, merge, show."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from typing import Any

import typer

from assay.cli._options import AsJson
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.cli.exchange import export_ledger
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import default_path
from assay.ledger import merge as merge_ledgers
from assay.ledger import query as query_ledgers
from assay.ledger import verify as verify_ledger
from assay.spec.errors import ExitStatus
from assay.spec.errors import quote
from assay.task.stale import Baselines

app = typer.Typer(help="The evidence: verify it, query it, merge it, show it.")
app.command("export")(export_ledger)


Paths = Annotated[
    list[Path] | None, typer.Argument(help="Ledger folders; this project's when left out.")
]
LedgerOptions = Annotated[
    list[Path] | None, typer.Option("--ledger", help="A ledger folder; may be repeated.")
]


@app.command()
def verify(paths: Paths = None, as_json: AsJson = False) -> None:
    """Read every byte, judge every row's samples again, and name whatever does not agree."""
    # Late: the judge's statistics take longer to import than a small ledger to read.
    from assay.judge.evidence import recheck

    reports = [verify_ledger(Ledger(path), recompute=recheck) for path in paths or [default_path()]]
    if as_json:
        print_json([report.content() | {"ok": report.ok} for report in reports])
    else:
        print_table(
            ("ledger", "segments", "rows", "recomputed", "remarks", "problems"),
            (
                (r.ledger, r.segments, r.rows, r.recomputed, len(r.remarks), len(r.problems))
                for r in reports
            ),
        )
        for report in reports:
            for remark in report.remarks:
                print(f"remark: {quote(report.ledger)}: {remark}")
            for problem in report.problems:
                print(f"problem: {quote(report.ledger)}: {problem}")
    if not all(report.ok for report in reports):
        raise typer.Exit(ExitStatus.NO)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT over the views rows and verdicts.")],
    ledgers: LedgerOptions = None,
    as_json: AsJson = False,
) -> None:
    """Ask all given ledgers one question in SQL."""
    result = query_ledgers([Ledger(path) for path in ledgers or [default_path()]], sql)
    if as_json:
        print_json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
    else:
        print_table(result.columns, result.rows)


@app.command()
def merge(
    sources: Annotated[list[Path], typer.Argument(help="Ledger folders to copy from.")],
    into: Annotated[Path, typer.Option("--into", help="The ledger folder to copy into.")],
    as_json: AsJson = False,
) -> None:
    """Copy the segments of many ledgers into one, after verifying them all."""
    report = merge_ledgers([Ledger(path) for path in sources], Ledger(into))
    if as_json:
        print_json(report.content())
    else:
        print_table(
            ("segment", "outcome"),
            sorted(
                (name, outcome)
                for outcome in ("copied", "extended", "kept")
                for name in getattr(report, outcome)
            ),
        )


@app.command()
def show(
    row_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="A row's id.")] = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="The ledger folder.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show one row with its samples, or the newest rows."""
    source = Ledger(ledger or default_path())
    if row_id is not None:
        _show_row(source, source.find(row_id), as_json)
        return
    rows = sorted(source.rows(), key=lambda row: (row.time, row.segment, row.n))[-limit:]
    baselines = Baselines()
    if as_json:
        print_json([_content(row, baselines) for row in rows])
    else:
        _show_rows(rows, baselines)
    for segment in source.segments():
        if segment.remark is not None:
            print(f"assay: remark: {quote(source.path)}: {segment.remark}", file=sys.stderr)


def _show_rows(rows: Sequence[Row], baselines: Baselines) -> None:
    """A table; with a column of labels where a row has one."""
    labels = [", ".join(baselines.labels(row.body)) for row in rows]
    labelled = any(labels)
    print_table(
        ("id", "time", "kind", "samples", *(["label"] if labelled else []), "body"),
        (
            (
                row.id,
                row.time[:19] + "Z",
                row.kind,
                row.samples.bytes if row.samples else "",
                *([label] if labelled else []),
                json.dumps(row.body, ensure_ascii=False),
            )
            for row, label in zip(rows, labels, strict=True)
        ),
    )


def _show_row(source: Ledger, row: Row, as_json: bool) -> None:
    samples = source.samples(row) if row.samples else None
    baselines = Baselines()
    if as_json:
        columns = samples.columns if samples else None
        print_json(_content(row, baselines) | {"columns": columns})
        return
    labels = baselines.labels(row.body)
    print_table(
        ("field", "value"),
        [
            ("id", row.id),
            ("hash", row.hash),
            ("segment", row.segment),
            ("n", row.n),
            ("time", row.time),
            ("kind", row.kind),
            ("samples", f"{samples.count} of {', '.join(samples.columns)}" if samples else "none"),
            *([("label", ", ".join(labels))] if labels else []),
        ],
    )
    # JSON escapes what could steer a terminal.
    print(json.dumps(row.body, indent=2))


def _content(row: Row, baselines: Baselines) -> dict[str, Any]:
    """The row as it is stored, with what is known of it only now."""
    labels = baselines.labels(row.body)
    return {"id": row.id} | row.content() | ({"labels": list(labels)} if labels else {})
