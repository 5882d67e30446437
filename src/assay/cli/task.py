"""`assay task`: list, show, new, freeze."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from typing import Any

import typer

from assay.cli._options import AsJson
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.cli.exchange import export_task
from assay.cli.exchange import import_task
from assay.cli.refresh import refresh
from assay.cli.snapshot import snapshot
from assay.ledger import Ledger
from assay.ledger import default_path
from assay.spec.errors import quote
from assay.spec.task import Function
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.task import TaskFolder
from assay.task import load_task
from assay.task.catalogue import Entry
from assay.task.catalogue import catalogue
from assay.task.freeze import freeze as freeze_folder
from assay.task.new import new_task
from assay.task.stale import Standing
from assay.task.stale import standings

app = typer.Typer(help="Tasks: list them, show one, start a new one, freeze it.")
app.command()(snapshot)
app.command()(refresh)
app.command("import")(import_task)
app.command("export")(export_task)

Address = Annotated[str, typer.Argument(metavar="TASK", help="An address or a folder.")]


@app.command("list")
def list_tasks(
    root: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="Look here instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped tasks and those under ./tasks."""
    entries = catalogue(root)
    if as_json:
        print_json([_entry_content(entry) for entry in entries])
        return
    print_table(("task", "rows", "solutions", "what it computes"), map(_entry_line, entries))


@app.command()
def show(address: Address, as_json: AsJson = False) -> None:
    """Show what a task asks, its rows, baselines and solutions."""
    folder = load_task(address)
    if as_json:
        print_json(_content(folder))
        return
    task = folder.task
    print(f"{task.name}: {task.summary}")
    print(f"folder     {quote(folder.path)}")
    print(f"hash       {folder.content_hash[:16]}  ({folder.freeze_state})")
    print(f"functions  {', '.join(map(_signature, task.functions))}")
    print(f"baselines  {', '.join(_baseline_words(task))}")
    print(f"solutions  {', '.join(folder.solution_names) or 'none'}")
    for standing in standings(folder, Ledger(default_path())):
        print(f"verdict    {quote(_standing_words(standing))}")
    print_table(("row", "tensors", "options", "models"), map(_row_line, folder.workloads.rows))


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    name: Annotated[str, typer.Option("--name", help="The task's name, as suite/name.")],
    as_json: AsJson = False,
) -> None:
    """Write a small task that loads and is right, to be edited into your own."""
    made = new_task(folder, name)
    if as_json:
        print_json(_content(made))
    else:
        print(f"{made.task.name} written to {quote(folder)}")


@app.command()
def freeze(address: Address, as_json: AsJson = False) -> None:
    """Write evidence/freeze.json: the hash of every file that defines the task."""
    folder = load_task(address)
    frozen = freeze_folder(folder.path, folder.task)
    if as_json:
        print_json(frozen.content())
    else:
        print(f"{folder.task.name} frozen: {len(frozen.files)} files")


def _content(folder: TaskFolder) -> dict[str, Any]:
    state = folder.freeze_state
    return {
        "task": folder.task.content(),
        "workloads": folder.workloads.content(),
        "path": str(folder.path),
        "content_hash": folder.content_hash,
        "freeze": {
            "status": state.status.value,
            "changed": list(state.changed),
            "missing": list(state.missing),
            "added": list(state.added),
        },
        "solutions": list(folder.solution_names),
    }


def _entry_content(entry: Entry) -> dict[str, Any]:
    task = entry.folder.task if entry.folder else None
    return {
        "address": entry.address,
        "path": str(entry.path),
        "shipped": entry.shipped,
        "summary": task.summary if task else None,
        "rows": len(entry.folder.workloads.rows) if entry.folder else None,
        "solutions": list(entry.folder.solution_names) if entry.folder else [],
        "problem": entry.problem,
    }


def _entry_line(entry: Entry) -> tuple[str, ...]:
    if entry.folder is None:
        return entry.address, "", "", f"does not load: {entry.problem}"
    names = ", ".join(entry.folder.solution_names)
    return entry.address, str(len(entry.folder.workloads.rows)), names, entry.folder.task.summary


def _signature(function: Function) -> str:
    arguments = ", ".join(argument.name for argument in function.arguments)
    options = ", ".join(option.name for option in function.options)
    return f"{function.name}({arguments}{'; ' + options if options else ''})"


def _baseline_words(task: Task) -> Iterable[str]:
    for baseline in task.baselines:
        yield f"{baseline.name} ({baseline.kind}{', primary' if baseline.primary else ''})"


def _standing_words(standing: Standing) -> str:
    ratio = "" if standing.geomean is None else f" {standing.geomean:.4f}"
    labels = "".join(f" ({label})" for label in standing.labels)
    return f"{standing.row} {standing.candidate} {standing.verdict.upper()}{ratio}{labels}"


def _row_line(row: Row) -> tuple[str, ...]:
    tensors = " ".join(
        f"{name}={'x'.join(map(str, spec.shape)) or 'scalar'}:{spec.dtype}" if spec else f"{name}=-"
        for name, spec in row.tensors.items()
    )
    options = " ".join(f"{name}={value}" for name, value in row.options.items())
    return row.id, tensors, options, ", ".join(row.models)
