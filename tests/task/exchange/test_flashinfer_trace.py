"""Verdicts of a ledger as FlashInfer-Bench traces, read back by our own reader."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.device.environment import environment
from assay.ledger import Ledger
from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.verdict import RowVerdict
from assay.task import find_solution
from assay.task import load_task
from assay.task.exchange.flashinfer_form import Trace
from assay.task.exchange.flashinfer_form import TraceStatus
from assay.task.exchange.flashinfer_form import read_part
from assay.task.exchange.flashinfer_trace import export_traces

ROW = "m1320_d128_f32"
MEASURED = {
    "ratio": 1.5,
    "interval": [1.4, 1.6],
    "floor": 0.01,
    "baseline_us": 300.0,
    "candidate_us": 200.0,
    "generations": 8,
    "blocks": 16,
    "sign_test_p": 0.01,
    "echo_ratio": 1.0,
}
FASTER = {
    "row": ROW,
    "lane": "throughput",
    "status": "faster",
    "ratio": 1.5,
    "interval": [1.4, 1.6],
    "baseline_us": 300.0,
    "candidate_us": 200.0,
    "measurement": MEASURED,
}
WRONG = {
    "row": ROW,
    "lane": "throughput",
    "status": "wrong_value",
    "reason": "first y[0, 3] is wrong",
    "wrong": {
        "row": ROW,
        "distribution": "normal",
        "output": "y",
        "first_bad_index": [0, 3],
        "expected": "1.0",
        "got": "2.0",
        "wrong_elements": 5,
        "elements": 168960,
        "reproduce": "assay judge cpu/rms_norm",
    },
}


def of_status(status: str, **more: Any) -> dict[str, Any]:
    return {"row": ROW, "lane": "throughput", "status": status, **more}


def ledger_with(path: Path, rows: list[dict[str, Any]], task_hash: str | None = None) -> Ledger:
    task = load_task("cpu/rms_norm")
    for row in rows:
        RowVerdict.model_validate_json(json.dumps(row))  # such rows as a referee writes
    body = {
        "task": "cpu/rms_norm",
        "verdict": rows[0]["status"] if rows else "build_error",
        "rows": rows,
        "labels": ["one thread a side"],
        "provenance": {
            "created": "2026-11-15T12:00:00Z",
            "task_hash": task_hash or task.content_hash,
            "candidate_hash": find_solution(task, "win").content_hash,
            "environment": {"python": "3.11.7", "assay": "0.1.0", "packages": {"torch": "2.11.0"}},
            "device": {"kind": "cuda", "name": "NVIDIA H200"},
        },
    }
    with Ledger(path).writer(environment()) as writer:
        writer.append("task-verdict", body)
    return Ledger(path)


def traces_of(path: Path) -> list[Trace]:
    lines = path.read_text().splitlines()
    return [read_part(json.loads(line), Trace, "trace") for line in lines]


def test_a_faster_row_is_a_trace_that_passed(tmp_path: Path) -> None:
    ledger = ledger_with(tmp_path / "ledger", [FASTER])
    report = export_traces([ledger, ledger], tmp_path / "t.jsonl")
    assert (report.traces, report.left_out) == (1, ())
    (trace,) = traces_of(tmp_path / "t.jsonl")
    assert trace.definition == "cpu/rms_norm"
    assert trace.solution == "win"
    assert trace.workload.uuid == ROW
    assert trace.workload.axes == {"rows": 1320, "width": 128}
    assert trace.workload.inputs["x"].type == "random"
    assert trace.workload.inputs["eps"].value == 1e-6  # type: ignore[union-attr]
    evaluation = trace.evaluation
    assert evaluation is not None
    assert evaluation.status is TraceStatus.PASSED
    assert evaluation.environment.hardware == "NVIDIA_H200"
    assert evaluation.environment.libs == {"python": "3.11.7", "assay": "0.1.0", "torch": "2.11.0"}
    assert evaluation.timestamp == "2026-11-15T12:00:00Z"
    performance, correctness = evaluation.performance, evaluation.correctness
    assert performance is not None
    assert performance.latency_ms == 0.2
    assert performance.reference_latency_ms == 0.3
    assert performance.speedup_factor == 1.5
    assert correctness is not None
    # No error was kept, and none is claimed.
    assert math.isnan(correctness.max_absolute_error)
    assert correctness.extra is not None
    ours = correctness.extra["assay"]
    assert (ours["status"], ours["lane"]) == ("faster", "throughput")
    assert ours["interval"] == [1.4, 1.6]
    assert ours["labels"] == ["one thread a side"]


@pytest.mark.parametrize(
    ("row", "status", "log"),
    [
        (WRONG, "INCORRECT_NUMERICAL", "wrong_value: first y[0, 3] is wrong"),
        (of_status("wrong_shape", reason="no"), "INCORRECT_SHAPE", "wrong_shape: no"),
        (of_status("wrong_dtype"), "INCORRECT_DTYPE", "wrong_dtype"),
        (of_status("build_error"), "COMPILE_ERROR", "build_error"),
        (of_status("timeout"), "TIMEOUT", "timeout"),
        (of_status("crash"), "RUNTIME_ERROR", "crash"),
        (
            of_status("violation", violation="early_ring", reason="too soon"),
            "RUNTIME_ERROR",
            "violation: early_ring: too soon",
        ),
    ],
)
def test_each_failure_has_its_status_there(
    row: dict[str, Any], status: str, log: str, tmp_path: Path
) -> None:
    export_traces([ledger_with(tmp_path / "ledger", [row])], tmp_path / "t.jsonl")
    (trace,) = traces_of(tmp_path / "t.jsonl")
    assert trace.evaluation is not None
    assert trace.evaluation.status == status
    assert trace.evaluation.log == log
    assert trace.evaluation.performance is None


def test_what_has_no_place_there_is_left_out_and_said(tmp_path: Path) -> None:
    unclear = of_status("unclear", reason="disturbed")
    ledger = ledger_with(tmp_path / "ledger", [FASTER, unclear])
    report = export_traces([ledger], tmp_path / "t.jsonl")
    assert report.traces == 1
    (told,) = report.left_out
    assert told.endswith(f"row {ROW}, lane throughput: unclear without a time")

    ledger = ledger_with(tmp_path / "other", [FASTER], task_hash="0" * 64)
    report = export_traces([ledger], tmp_path / "o.jsonl")
    (told,) = report.left_out
    assert told.endswith("axes and inputs of cpu/rms_norm, which is not here as it was judged")
    (trace,) = traces_of(tmp_path / "o.jsonl")
    assert trace.workload.axes == {}
    assert trace.solution is not None
    assert len(trace.solution) == 16

    report = export_traces([ledger_with(tmp_path / "none", [])], tmp_path / "n.jsonl")
    assert report.traces == 0
    assert report.left_out[0].endswith("build_error of the whole task, without a row")


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    ledger = ledger_with(tmp_path / "ledger", [FASTER])
    (tmp_path / "t.jsonl").write_text("mine")
    with pytest.raises(UsageError, match="there is something already"):
        export_traces([ledger], tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_text() == "mine"


@pytest.mark.parametrize(
    ("evaluation", "key"),
    [
        ({"status": "PASSED"}, "evaluation"),
        ({"status": "FAST"}, "evaluation.status"),
        ({"status": "TIMEOUT", "performance": {}}, "evaluation.performance.latency_ms"),
    ],
)
def test_the_reader_refuses_what_is_no_trace(evaluation: dict[str, Any], key: str) -> None:
    content = {
        "definition": "d",
        "workload": {"axes": {}, "inputs": {}, "uuid": "u"},
        "solution": "s",
        "evaluation": {"environment": {"hardware": "h"}, "timestamp": "t", **evaluation},
    }
    with pytest.raises(DocumentError) as raised:
        read_part(content, Trace, "trace")
    assert raised.value.where == f"trace: key {key}"
