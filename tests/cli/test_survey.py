"""`assay survey` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.judge.survey import Survey
from assay.ledger import Ledger

TASK = ["survey", "cpu/rms_norm", "--rows", "m55_*", "--generations", "1", "--readings", "1"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_survey_is_shown_on_record_and_gone_on_with(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _edge.run([*TASK, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    (row,) = Ledger(home / "ledger").rows("survey")
    assert shown == {**row.body, "ledger_id": row.id}
    assert (shown["task"], shown["row"], shown["failures"]) == (
        "cpu/rms_norm",
        "m55_d3072_f32",
        {},
    )
    assert set(shown["timings"]) == {"naive", "twin"}
    assert shown["errors"]["naive"]["elements"] == 55 * 3072

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is on record")

    monkeypatch.setattr(Survey, "run", never)
    assert _edge.run([*TASK, "--resume"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["row", "solution", "lane"]
    assert {line.split()[1] for line in lines[1:]} == {"naive", "twin"}
    assert all(row.id in line for line in lines[1:])


def test_other_solutions_are_another_survey(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = [*TASK, "--resume", "--solution", "win", "--solution", "torch", "--json"]
    assert _edge.run(named) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert set(shown["solutions"]) == {"win", "torch"}
    assert set(shown["timings"]) == {"win", "torch", "twin"}


def test_an_interrupt_says_how_to_go_on(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Survey, "run", interrupted)
    assert _edge.run(TASK) == 130
    assert capsys.readouterr().err == (
        "assay: interrupted with 0 of 1 rows on record "
        "(the same command with --resume goes on from there)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["cpu/rms_norm", "--rows", "odd*"], "assay: cpu/rms_norm: no row matches odd*"),
        (["cpu/rms_norm", "--lane", "odd"], "assay: --lane: no lane odd here"),
        (["cpu/odd"], "assay: cpu/odd: "),
        (["cpu/rms_norm", "--solution", "odd"], "assay: cpu/rms_norm: odd: no such solution"),
    ],
)
def test_a_mistake_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert _edge.run(["survey", *arguments]) == 64
    error = capsys.readouterr().err
    assert error.startswith(line)
    assert error.count("\n") == 1
