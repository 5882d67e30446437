"""`assay survey`: how fast is what there is, on every row, beside a copy of the same bytes?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from typing import Any

import typer

from assay.cli._options import AsJson
from assay.cli._options import DeviceName
from assay.cli._options import read_lanes
from assay.cli._progress import progress_bar
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.device import open_judging_device
from assay.judge.survey import TWIN
from assay.judge.survey_record import Pace
from assay.ledger import Row
from assay.ledger import default_path
from assay.task import load_task
from assay.task.surveying import survey as survey_task


def survey(
    task: Annotated[str, typer.Argument(help="A task's address or its folder.")],
    solution: Annotated[
        list[str] | None,
        typer.Option(help="A solution or baseline; may be repeated. All baselines by default."),
    ] = None,
    lane: Annotated[
        list[str] | None,
        typer.Option(help="A lane beside throughput, for the first of them; may be repeated."),
    ] = None,
    rows: Annotated[str, typer.Option(help="Rows whose id matches, as 'ln_*'.")] = "*",
    device: DeviceName = None,
    generations: Annotated[int, typer.Option(min=1, help="Processes of each solution.")] = 2,
    readings: Annotated[int, typer.Option(min=1, help="Batches of each process and row.")] = 2,
    resume: Annotated[
        bool, typer.Option("--resume", help="Leave out rows that are on record.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Time every baseline of a task on every row. Figures for a map, not a verdict."""
    opened = open_judging_device(device or load_task(task).task.device)
    lanes = read_lanes(lane, tuple(opened.lanes))
    with progress_bar(as_json) as report:
        found = survey_task(
            task,
            ledger=default_path(),
            solutions=solution or (),
            lanes=lanes,
            rows=rows,
            device=device,
            pace=Pace(generations, readings),
            resume=resume,
            report=report,
        )
    if as_json:
        print_json([{**row.body, "ledger_id": row.id} for row in found.rows])
    else:
        print_table(
            ["row", "solution", "lane", "µs", "spread", "of the twin", "off by", "ledger id"],
            (line for row in found.rows for line in _lines(row)),
        )
    raise typer.Exit(found.exit_status)


def _lines(row: Row) -> Iterator[list[Any]]:
    body = row.body
    twin = body["timings"].get(TWIN, {}).get("throughput", {}).get("us")
    for name, lanes in body["timings"].items():
        for lane, timing in lanes.items():
            share = timing["us"] / twin if twin and lane == "throughput" else None
            error = body["errors"].get(name, {}).get("relative")
            yield [
                body["row"],
                name,
                lane,
                f"{timing['us']:.2f}",
                f"{timing['spread']:.1%}",
                None if share is None else f"{share:.2f}",
                None if error is None else f"{error:.2g}",
                row.id,
            ]
    for name, why in body["failures"].items():
        yield [body["row"], name, "-", None, None, None, why, row.id]
