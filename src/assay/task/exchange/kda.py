"""KDA-Pilot: a task folder becomes a task of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.spec.baseline import WheelBaseline
from assay.spec.documents import parse_document
from assay.spec.documents import read_document
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Workloads
from assay.task.exchange import kda_rows
from assay.task.exchange.document import task_text
from assay.task.exchange.document import workloads_text
from assay.task.exchange.form import WORKLOADS
from assay.task.exchange.form import Form
from assay.task.exchange.form import json_of
from assay.task.exchange.form import read_text
from assay.task.exchange.form import source_text
from assay.task.exchange.imported import Imported
from assay.task.exchange.kda_config import Config
from assay.task.exchange.kda_config import read_config
from assay.task.exchange.kda_parts import Call
from assay.task.exchange.kda_parts import parameters_in
from assay.task.exchange.kda_parts import part_files
from assay.task.exchange.kda_task import BASELINE
from assay.task.exchange.kda_task import task_of
from assay.task.exchange.names import name as as_name
from assay.task.exchange.written import write_task

TASK_FILE = "bench/assay_task.toml"
"""What their form has no words for; written by our export."""
REFERENCE = "bench/reference.py"
CANDIDATE = "candidate"


def import_kda(folder: Path, into: Path) -> Imported:
    if not folder.is_dir():
        raise UsageError("not a folder", where=quote(folder))
    config = read_config(folder)
    if not (folder / REFERENCE).is_file():
        raise UsageError(
            f"there is no {REFERENCE}: nobody has said what is right",
            where=quote(folder),
            next_step="write it: each function by name, from its inputs to its outputs",
        )
    known = _known(folder)
    remarks: list[str] = []
    rows = _rows(folder, config, known, remarks)
    functions = list(dict.fromkeys(row.function for row in rows))
    task = known.content() if known else task_of(config, rows, functions, folder)
    calls = [_call(function) for function in task["functions"]]
    primary = known.primary_baseline if known else None
    place = getattr(primary, "path", f"baselines/{BASELINE}")
    files = {
        f"{place}/{path}": text
        for path, text in _side(folder, BASELINE, config, calls, BASELINE).items()
    }
    left_out: list[str] = []
    names: list[str] = []
    if _has_sources(folder / "solution"):
        try:
            made = _side(folder, "solution", config, calls, CANDIDATE)
            files |= {f"solutions/{CANDIDATE}/{path}": text for path, text in made.items()}
            names.append(CANDIDATE)
        except UsageError as error:
            left_out.append(f"solution: {error.what}")
    body = {key: value for key, value in task.items() if key != "schema"}
    if known is not None:
        body["baselines"] = [b for b in body["baselines"] if b["primary"]]
        left_out += [f"baseline {b.name}" for b in known.baselines if not b.primary]
    if isinstance(primary, WheelBaseline):
        remarks.append("the baseline's files are in its wheel: assay task snapshot gets them")
    contents = [row.content() if known else kda_rows.plainly(row) for row in rows]
    files |= {
        "task.toml": task_text(body, quote(folder)),
        "workloads.json": workloads_text(contents, _source(config), quote(folder / WORKLOADS)),
        "reference.py": source_text(folder / REFERENCE),
    }
    made_task = write_task(into, files)
    return Imported(Form.KDA, made_task, tuple(names), tuple(left_out), tuple(remarks))


def _known(folder: Path) -> Task | None:
    path = folder / TASK_FILE
    return read_document(path, Task) if path.is_file() else None


def _source(config: Config) -> list[str]:
    return [f"imported from the KDA-Pilot task {as_name(config.slug)}"]


def _has_sources(folder: Path) -> bool:
    return folder.is_dir() and any(
        path.is_file() and path.suffix in {".py", ".cu", ".cpp", ".toml"}
        for path in folder.rglob("*")
    )


def _call(function: dict[str, Any]) -> Call:
    arguments = function["arguments"]
    return Call(
        function["name"],
        tuple(a["name"] for a in arguments if a["role"] != "output"),
        tuple(a["name"] for a in arguments if a["role"] == "output"),
        tuple(option["name"] for option in function["options"] or ()),
    )


def _side(folder: Path, side: str, config: Config, calls: list[Call], name: str) -> dict[str, str]:
    entry = config.baseline if side == BASELINE else config.candidate
    return part_files(folder / side, entry, calls, name, destination=config.destination)


def _rows(folder: Path, config: Config, known: Task | None, remarks: list[str]) -> tuple[Row, ...]:
    path = folder / WORKLOADS
    content = json_of(path)
    where = quote(path)
    if not isinstance(content, list) or not content:
        raise UsageError("not a list of rows", where=where)
    try:
        read = [kda_rows.read(row, index) for index, row in enumerate(content)]
    except UsageError as error:
        raise UsageError(error.what, where=where, next_step=error.next_step) from None
    allowed = _options_of(folder, config, known)
    for row in read:
        taken = allowed.get(row["function"], set(row["options"]))
        for name in [name for name in row["options"] if name not in taken]:
            del row["options"][name]
            remark = f"{quote(name)} is no parameter of {quote(row['function'])}, and left out"
            if remark not in remarks:
                remarks.append(remark)
        if known is None:
            row["models"] = [as_name(str(model)) for model in row["models"]]
            row["id"] = as_name(row["id"])
    document = {"schema": Workloads.SCHEMA, "rows": read}
    return parse_document(document, Workloads, where).rows


def _options_of(folder: Path, config: Config, known: Task | None) -> dict[str, set[str]]:
    """Which scalars of a row its function takes, as far as it is known."""
    if known is not None:
        return {f.name: {option.name for option in f.options} for f in known.functions}
    path, entry = folder / config.baseline[0], config.baseline[1]
    if path.suffix != ".py" or not path.is_file():
        return {}
    defined = parameters_in(read_text(path))
    found = {name: set(parameters) for name, parameters in defined.items()}
    content = json_of(folder / WORKLOADS)
    names = {str(row.get("function")) for row in content if isinstance(row, dict)}
    if len(names) == 1 and entry in found:
        found[names.pop()] = found[entry]
    return found
