"""`assay redteam` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.ledger import Ledger

CAUTIOUS = """sh -c 'echo RESULT {\\"ok\\": false} # {solution}'"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_an_attack_is_tried_shown_and_on_record(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(["redteam", "--attack", "ignore_params"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "attack"
    assert "ignore_params" in lines[1]
    assert "beaten: taken for right" in lines[1]
    assert "wrong_value" in lines[1]
    assert "weights are drawn like other inputs" in lines[1]
    assert lines[2] == "1 of 1 attacks stopped here; the plain evaluator fell to 1"
    (row,) = Ledger(home / "ledger").rows("redteam")
    assert lines[3] == f"ledger id {row.id}"
    assert row.body["trials"][0]["end"]["status"] == "wrong_value"


def test_an_evaluator_of_the_users_own_is_tried_instead(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["redteam", "--class", "semantic", "--evaluator", CAUTIOUS, "--json"]
    assert _edge.run(asked) == 0
    shown = json.loads(capsys.readouterr().out)
    (row,) = Ledger(home / "ledger").rows("redteam")
    assert shown == {**row.body, "ledger_id": row.id}
    assert shown["attacks"] >= 21
    assert shown["beaten"] == 0
    assert {fight["class"] for fight in shown["fights"]} == {"semantic"}


def test_an_evaluator_that_is_beaten_is_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gullible = CAUTIOUS.replace("false", "true")
    assert _edge.run(["redteam", "--attack", "nan_mask", "--evaluator", gullible]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "your evaluator" in lines[0]
    assert "beaten: taken for right" in lines[1]
    assert lines[2] == "1 of 1 attacks beat it"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--class", "odd"], "assay: --class: no class of attacks is called odd (one of timing, "),
        (["--attack", "odd"], "assay: --attack: no attack is called odd ("),
        (["--device", "odd"], "assay: --device: attacks cannot be tried on odd"),
        (["--evaluator", "true"], "assay: --evaluator: nothing in it says {solution}"),
        (["--evaluator", "'{solution}"], "assay: --evaluator: cannot be split into words"),
        (
            ["--attack", "nan_mask", "--evaluator", "/no/such {solution}"],
            "assay: /no/such: cannot be started: No such file or directory",
        ),
    ],
)
def test_bad_input_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert _edge.run(["redteam", *arguments]) >= 64
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1
