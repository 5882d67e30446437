"""The tables of a survey, from a ledger made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.device.environment import environment
from assay.ledger import Ledger
from benchmarks import survey_tables
from benchmarks.survey_tables import NOTHING
from benchmarks.survey_tables import survey_table


def body(row: str, us: dict[str, float], **more: Any) -> dict[str, Any]:
    timings: dict[str, Any] = {name: {"throughput": {"us": value}} for name, value in us.items()}
    timings.setdefault("sglang", {})["latency"] = {"us": 31.0}
    return {
        "task": "diffusion/norm_infer",
        "task_hash": "a" * 64,
        "packages": {"sglang": "sglang 0.5.23"},
        "device": "NVIDIA H200",
        "row": row,
        "bytes_read": 3_000_000,
        "bytes_written": 1_000_000,
        "timings": timings,
        "failures": {},
        **more,
    }


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(survey_tables, "EVIDENCE", tmp_path)
    with Ledger(tmp_path).writer(environment()) as writer:
        writer.append("survey", body("old", {"sglang": 1.0}, task_hash="b" * 64))
        writer.append("survey", body("elsewhere", {"sglang": 1.0}, device="another"))
        writer.append("survey", body("ln", {"sglang": 99.0}))
        usual = {"sglang": 20.0, "eager": 80.0, "compiled": 40.0, "twin": 10.0}
        writer.append("survey", body("ln", usual))
        odd = {"sglang": 20.0, "eager": 20.0, "twin": 40.0}
        writer.append("survey", body("rms", odd, failures={"compiled": "it raised"}))
    return tmp_path


def test_each_row_has_the_figures_of_its_newest_survey(ledger: Path) -> None:
    lines = survey_table("norm_infer").splitlines()
    ids = [row.id for row in Ledger(ledger).rows("survey")]
    assert lines[0].startswith("| row | MB moved | SGLang µs |")
    assert lines[2] == f"| `ln` | 4.0 | 20.00 | 2.00 | 31.00 | 4.00 | 2.00 | 10.00 | `{ids[3]}` |"
    assert lines[3] == (
        f"| `rms` | 4.0 | 20.00 | 0.50 | 31.00 | 1.00 | failed | 40.00 | `{ids[4]}` |"
    )
    assert lines[-1] == (
        "2 rows, sglang 0.5.23 on an H200. Geometric means: SGLang takes 1.00 times the copy "
        "twin, eager 2.00 and compiled 2.00 times SGLang, throughput lane."
    )


def test_a_task_without_a_survey_says_so(ledger: Path) -> None:
    assert survey_table("qknorm_rope") == NOTHING
