"""`assay judge` and `assay task admit` from the command line, on the shipped tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import _edge
from assay.cli._options import read_budget
from assay.cli._options import read_lanes
from assay.judge.evidence import recheck
from assay.ledger import Ledger
from assay.ledger import verify
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.rules import Budget


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = _edge.run([*arguments, "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return status, json.loads(captured.out)


def test_a_wrong_solution_is_wrong_with_its_first_bad_index_and_exit_1(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = run(capsys, "judge", "cpu/rms_norm", "--candidate", "wrong")
    assert status == 1
    assert verdict["verdict"] == "wrong_value"
    wrong = verdict["rows"][0]["wrong"]
    # Inputs are drawn anew each time; the eps is wrong for the whole first row of x.
    assert wrong["first_bad_index"][0] == 0
    assert len(wrong["first_bad_index"]) == 2
    assert wrong["reproduce"].startswith("assay judge cpu/rms_norm --candidate wrong --reproduce ")

    # The line that it gives shows the same thing again.
    again, repeated = run(capsys, *wrong["reproduce"].split()[1:])
    assert again == 1
    assert repeated["rows"][0]["wrong"] == wrong
    # It is in the ledger, and says where it came from.
    rows = list(Ledger(home / "ledger").rows("task-verdict"))
    assert [row.body["verdict"] for row in rows] == ["wrong_value"]
    assert rows[0].body["provenance"]["task"] == "cpu/rms_norm"


def test_a_right_solution_is_timed_and_every_promised_key_is_there(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = run(
        capsys,
        "judge",
        "cpu/rms_norm",
        "--candidate",
        "win",
        "--budget",
        "12s",
        "--lane",
        "latency",
    )
    # A busy machine may leave it unclear; it may never call the win slower or the same.
    assert (status, verdict["verdict"]) in {(0, "faster"), (2, "unclear")}
    assert list(verdict)[:7] == [
        "schema",
        "task",
        "verdict",
        "geomean",
        "interval",
        "worst",
        "rows",
    ]
    assert {row["lane"] for row in verdict["rows"]} == {"throughput", "latency"}
    report = verify(Ledger(home / "ledger"), recompute=recheck)
    assert (report.problems, report.recomputed) == ((), len(verdict["rows"]))


def test_the_same_solution_on_both_sides_is_never_faster_or_slower(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = run(
        capsys, "judge", "cpu/rms_norm", "--candidate", "tie", "--against", "tie", "--budget", "4s"
    )
    assert verdict["verdict"] in {"same", "unclear"}
    assert status in {1, 2}


def test_a_task_that_is_not_admitted_needs_to_be_asked_for(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(["task", "new", str(tmp_path / "mine"), "--name", "mine/own"]) == 0
    capsys.readouterr()
    assert _edge.run(["judge", str(tmp_path / "mine")]) == 64
    assert "not admitted" in capsys.readouterr().err
    status, verdict = run(capsys, "judge", str(tmp_path / "mine"), "--unadmitted", "--budget", "2s")
    assert status in {0, 1, 2}
    assert "task not admitted" in verdict["labels"]


def test_a_task_with_a_hole_is_refused(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(["task", "new", str(tmp_path / "mine"), "--name", "mine/hole"]) == 0
    toml = tmp_path / "mine" / "task.toml"
    # Limits so loose that eight bits of precision pass.
    toml.write_text(
        toml.read_text()
        + "\n[tolerance]\nmaximum_ulps = 1000000.0\nmaximum_factor = 1000.0\n"
        + 'rms_factor = 1000.0\nreason = "a hole, for the test"\n'
    )
    capsys.readouterr()
    status, admission = run(capsys, "task", "admit", str(tmp_path / "mine"))
    assert status == 1
    assert admission["admitted"] is False
    assert admission["survivors"] == ["bfloat16_precision passes on m256_d1024"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["judge", "cpu/rms_nrom", "--candidate", "win"], "cpu/rms_norm"),
        (["judge", "cpu/rms_norm"], "which candidate?"),
        (["judge", "cpu/rms_norm", "--candidate", "nobody"], "nobody"),
        (["judge", "cpu/rms_norm", "--candidate", "win", "--budget", "soon"], "no length of time"),
        (["judge", "cpu/rms_norm", "--candidate", "win", "--lane", "warp"], "no lane warp"),
        (
            ["judge", "cpu/rms_norm", "--candidate", "win", "--device", "warp"],
            "no device is called",
        ),
        (["judge", "cpu/rms_norm", "--candidate", "win", "--reproduce", "x"], "--reproduce"),
        (["judge", "cpu/rms_norm", "--candidate", "win", "--against", "incumbent"], "no incumbent"),
        (["judge", "cpu/rms_norm", "--baseline", "a.py:f"], "a task has its own baseline"),
        (["judge", "--baseline", "a.py:f"], "loose files need --candidate"),
        (["judge"], "loose files need --baseline"),
        (["task", "admit", "cpu/nothing"], "cpu/nothing"),
    ],
)
def test_each_mistake_is_one_line_and_64(
    home: Path, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(arguments) == 64
    captured = capsys.readouterr()
    assert line in captured.err
    assert captured.err.count("\n") == 1


def test_a_ledger_that_cannot_be_written_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    assert _edge.run(["judge", "cpu/rms_norm", "--candidate", "win"]) == 74
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60.0), ("2m", 120.0), ("1.5", 1.5), ("3min", 180.0)]
)
def test_a_budget_is_read_as_a_length_of_time(text: str, seconds: float) -> None:
    assert read_budget(text, quick=False) == Budget(task_seconds=seconds)


@pytest.mark.parametrize("text", ["", "0s", "-1s", "1h", "1e9", "100000s", "s"])
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no length of time"):
        read_budget(text, quick=False)


def test_the_throughput_lane_is_always_among_the_lanes() -> None:
    lanes = (Lane.THROUGHPUT, Lane.LATENCY)
    assert read_lanes(None, lanes) == (Lane.THROUGHPUT,)
    assert read_lanes(["latency"], lanes) == lanes
