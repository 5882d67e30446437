"""Verdicts of a ledger as FlashInfer-Bench traces: one for each row of each task's verdict."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.judge.axes import extents_of
from assay.judge.evidence import TASK_VERDICT
from assay.ledger import Ledger
from assay.ledger import Row as LedgerRow
from assay.spec.errors import AssayError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.status import Status
from assay.spec.task import Role
from assay.task.exchange.flashinfer_form import Trace
from assay.task.exchange.flashinfer_form import TraceStatus
from assay.task.exchange.flashinfer_form import read_part
from assay.task.load import TaskFolder
from assay.task.load import load_solution
from assay.task.load import load_task

_STATUS = {
    Status.BUILD_ERROR: TraceStatus.COMPILE_ERROR,
    Status.TIMEOUT: TraceStatus.TIMEOUT,
    Status.WRONG_SHAPE: TraceStatus.INCORRECT_SHAPE,
    Status.WRONG_DTYPE: TraceStatus.INCORRECT_DTYPE,
    Status.WRONG_VALUE: TraceStatus.INCORRECT_NUMERICAL,
    Status.NONDETERMINISTIC: TraceStatus.INCORRECT_NUMERICAL,
}
"""What is not here and was not timed is a RUNTIME_ERROR, and its log says what it was."""
_UNKNOWN = "NaN"
"""An error that no row of ours holds. Their form takes NaN, and zero would be a claim."""


@dataclass(frozen=True)
class TraceReport:
    path: Path
    traces: int
    left_out: tuple[str, ...]
    """Verdicts that have no place there, each with its reason."""

    def content(self) -> dict[str, Any]:
        return {"path": str(self.path), "traces": self.traces, "left_out": list(self.left_out)}


def export_traces(
    ledgers: Iterable[Ledger], path: Path, known: Iterable[TaskFolder] = ()
) -> TraceReport:
    """Write a new file of JSON lines, whole or not at all; `known` are tasks at hand."""
    if path.exists():
        raise UsageError(
            "there is something already", where=quote(path), next_step="name a new one"
        )
    lines: list[str] = []
    left_out: list[str] = []
    seen: set[str] = set()
    tasks = _Tasks(known)
    for ledger in ledgers:
        for row in ledger.rows(TASK_VERDICT):
            if row.hash in seen:
                continue
            seen.add(row.hash)
            for content in _traces(row, tasks, left_out):
                read_part(content, Trace, f"ledger row {row.id}")
                lines.append(json.dumps(content) + "\n")
    _write(path, "".join(lines))
    return TraceReport(path, len(lines), tuple(left_out))


def _write(path: Path, text: str) -> None:
    try:
        descriptor, scratch = tempfile.mkstemp(prefix=".assay-trace-", dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.replace(scratch, path)
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=quote(path)) from None


class _Tasks:
    """Tasks by the name and hash that evidence has of them; each is looked for once."""

    def __init__(self, known: Iterable[TaskFolder]) -> None:
        self._known: dict[tuple[str, str], TaskFolder | None] = {
            (task.task.name, task.content_hash): task for task in known
        }

    def find(self, name: str, content_hash: str) -> TaskFolder | None:
        key = (name, content_hash)
        if key not in self._known:
            try:
                task = load_task(name)
            except AssayError:
                self._known[key] = None
            else:
                self._known[key] = task if task.content_hash == content_hash else None
        return self._known[key]


def _traces(row: LedgerRow, tasks: _Tasks, left_out: list[str]) -> Iterator[dict[str, Any]]:
    body = row.body
    provenance = body.get("provenance") or {}
    task = tasks.find(str(body.get("task")), str(provenance.get("task_hash")))
    verdicts = body.get("rows") or []
    if not verdicts:
        left_out.append(f"{row.id}: {body.get('verdict')} of the whole task, without a row")
    if task is None:
        left_out.append(
            f"{row.id}: axes and inputs of {body.get('task')}, which is not here as it was judged"
        )
    solution = _solution_name(task, str(provenance.get("candidate_hash")))
    for verdict in verdicts:
        evaluation = _evaluation(row, verdict, provenance)
        if evaluation is None:
            left_out.append(
                f"{row.id}: row {verdict['row']}, lane {verdict['lane']}: "
                f"{verdict['status']} without a time"
            )
            continue
        yield {
            "definition": str(body.get("task")).removeprefix("flashinfer/"),
            "workload": _workload(task, verdict["row"]),
            "solution": solution,
            "evaluation": evaluation,
        }


def _solution_name(task: TaskFolder | None, content_hash: str) -> str:
    """The solution of the task that has this hash; else the hash itself."""
    for name in task.solution_names if task else ():
        assert task is not None
        try:
            loaded = load_solution(task.path / "solutions" / name, task.task)
        except AssayError:
            continue
        if loaded.content_hash == content_hash:
            return name
    return content_hash[:16]


def _evaluation(
    row: LedgerRow, verdict: dict[str, Any], provenance: dict[str, Any]
) -> dict[str, Any] | None:
    """None for a verdict that was timed and has no time, which no status there says."""
    status = Status(verdict["status"])
    times = verdict.get("candidate_us"), verdict.get("baseline_us"), verdict.get("ratio")
    if status.is_timed and any(value is None for value in times):
        return None
    told = TraceStatus.PASSED if status.is_timed else _STATUS.get(status, TraceStatus.RUNTIME_ERROR)
    evaluation: dict[str, Any] = {
        "status": told.value,
        "environment": _environment(provenance),
        "timestamp": str(provenance.get("created", row.time)),
        "log": "" if status.is_timed else _log(verdict),
    }
    if told in {TraceStatus.PASSED, TraceStatus.INCORRECT_NUMERICAL}:
        evaluation["correctness"] = {
            "max_relative_error": _UNKNOWN,
            "max_absolute_error": _UNKNOWN,
            "extra": {"assay": _extra(row, verdict, provenance)},
        }
    if told is TraceStatus.PASSED:
        evaluation["performance"] = {
            "latency_ms": verdict["candidate_us"] / 1000,
            "reference_latency_ms": verdict["baseline_us"] / 1000,
            "speedup_factor": verdict["ratio"],
        }
    return evaluation


def _log(verdict: dict[str, Any]) -> str:
    parts = [verdict["status"], verdict.get("violation"), verdict.get("reason")]
    return ": ".join(str(part) for part in parts if part)


def _extra(row: LedgerRow, verdict: dict[str, Any], provenance: dict[str, Any]) -> dict[str, Any]:
    """Ours alone: the one place where their form takes what it does not know."""
    hashes = ("task_hash", "baseline_hash", "candidate_hash", "harness_hash")
    kept = ("row", "lane", "status", "interval", "twin_us", "measurement", "reason", "wrong")
    return {
        "ledger_row": row.hash,
        "labels": row.body.get("labels", []),
        **{key: verdict[key] for key in kept if verdict.get(key) is not None},
        **{key: provenance[key] for key in hashes if key in provenance},
    }


def _environment(provenance: dict[str, Any]) -> dict[str, Any]:
    device = provenance.get("device") or {}
    environment = provenance.get("environment") or {}
    libs = {"python": environment.get("python"), "assay": environment.get("assay")}
    libs |= environment.get("packages") or {}
    return {
        "hardware": re.sub(r"\s+", "_", str(device.get("name") or "unknown").strip()),
        "libs": {name: str(version) for name, version in libs.items() if version},
    }


def _workload(task: TaskFolder | None, row_id: str) -> dict[str, Any]:
    """Extents by axis, inputs as random; what the row was judged with is drawn anew each time."""
    row = next((r for r in task.workloads.rows if r.id == row_id), None) if task else None
    if task is None or row is None:
        return {"axes": {}, "inputs": {}, "uuid": row_id}
    function = task.task.function(row.function)
    assert function is not None  # checked when the task was loaded
    inputs: dict[str, Any] = {
        argument.name: {"type": "random"}
        for argument in function.arguments
        if argument.role is not Role.OUTPUT and row.tensors.get(argument.name) is not None
    }
    for name, value in row.options.items():
        if not isinstance(value, str):
            inputs[name] = {"type": "scalar", "value": value}
    axes: dict[str, int] = {}
    for name, extents in extents_of(function, row).items():
        # A starred name may stand for several axes, which are numbered.
        numbered = {f"{name}_{index}": extent for index, extent in enumerate(extents)}
        axes |= {name: extents[0]} if len(extents) == 1 else numbered
    return {"axes": axes, "inputs": inputs, "uuid": row_id}
