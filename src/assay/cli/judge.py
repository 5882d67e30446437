"""`assay judge`: is it right, is it faster, by how much, and how sure is that?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli._loose import LooseArguments
from assay.cli._loose import loose_task
from assay.cli._options import AsJson
from assay.cli._options import DeviceName
from assay.cli._options import read_budget
from assay.cli._options import read_lanes
from assay.cli._progress import progress_bar
from assay.cli._show import show_verdict
from assay.cli._show import terminal
from assay.device import open_judging_device
from assay.device.runners import RunnerDevice
from assay.ledger import default_path
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.task import load_task
from assay.task.judging import BASELINE
from assay.task.judging import Stored
from assay.task.judging import judge as judge_task
from assay.task.judging import reproduce as ask_again
from assay.task.loose import CANDIDATE


def judge(
    task: Annotated[
        str | None, typer.Argument(help="A task's address, as cpu/rms_norm, or its folder.")
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(help="A solution's name or folder; FILE:FUNCTION with loose files."),
    ] = None,
    against: Annotated[
        str, typer.Option(help="baseline, incumbent, or a solution's name or folder.")
    ] = BASELINE,
    lane: Annotated[
        list[str] | None, typer.Option(help="A lane beside throughput; may be repeated.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="60 s of device time at most.")] = False,
    budget: Annotated[
        str | None, typer.Option(help="Device time for the whole task, as 60s or 5m.")
    ] = None,
    device: DeviceName = None,
    reproduce: Annotated[
        str | None, typer.Option(help="Ask one question of an earlier exam again.")
    ] = None,
    unadmitted: Annotated[
        bool, typer.Option("--unadmitted", help="Judge a task that was not admitted; labelled.")
    ] = False,
    baseline: Annotated[str | None, typer.Option(help="Loose: FILE:FUNCTION.")] = None,
    reference: Annotated[str | None, typer.Option(help="Loose: FILE:FUNCTION.")] = None,
    shape: Annotated[
        list[str] | None, typer.Option(help="Loose: a tensor, as x=4096x128:float32.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option(help="Loose: a scalar, as eps=1e-6.")] = None,
    write: Annotated[Path | None, typer.Option(help="Loose: keep the task in this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a candidate against a baseline: right first, then fast."""
    allowed = read_budget(budget, quick)

    def run(address: str, name: str, unadmitted: bool) -> Stored:
        lanes = read_lanes(lane, tuple(_device_of(address, device).lanes))
        with progress_bar(as_json) as report:
            return judge_task(
                address,
                name,
                ledger=default_path(),
                against=against,
                lanes=lanes,
                budget=allowed,
                unadmitted=unadmitted,
                device=device,
                report=report,
            )

    loose = LooseArguments(baseline, candidate, reference, shape, option, write)
    if task is None or loose.given:
        if task is not None:
            raise UsageError("a task has its own baseline, reference and shapes", where=quote(task))
        with loose_task(loose) as address:
            stored = run(address, CANDIDATE, unadmitted=True)
    else:
        name = candidate or _only_solution(task)
        if reproduce is not None:
            _end(ask_again(task, name, reproduce, device=device), as_json)
        stored = run(task, name, unadmitted)
    _end(stored.judgement.verdict, as_json, stored)


def _device_of(address: str, name: str | None) -> RunnerDevice:
    return open_judging_device(name or load_task(address).task.device)


def _only_solution(task: str) -> str:
    names = load_task(task).solution_names
    if len(names) == 1:
        return names[0]
    raise UsageError(
        "which candidate?",
        where=quote(task),
        next_step=f"--candidate {' | '.join(names)}" if names else "--candidate FOLDER",
    )


def _end(verdict: TaskVerdict, as_json: bool, stored: Stored | None = None) -> None:
    """Print the verdict and leave with its exit status."""
    if as_json:
        print(json.dumps(verdict.content(), indent=2))
    else:
        console = terminal()
        show_verdict(console, verdict)
        for row, microseconds in (stored.judgement.prepare_us if stored else {}).items():
            console.print(f"prepare {row}: {microseconds:.0f} µs, once", highlight=False)
        if verdict.verdict is Status.WRONG_VALUE and verdict.rows[0].wrong is not None:
            console.print(f"again: {verdict.rows[0].wrong.reproduce}", soft_wrap=True)
        if stored is not None:
            console.print(f"ledger id {stored.row.id}", highlight=False)
    raise typer.Exit(verdict.verdict.exit_status)
