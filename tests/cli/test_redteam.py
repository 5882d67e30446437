"""`assay redteam` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.ledger import Ledger
from assay.redteam import suite

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
    assert lines[2] == (
        "1 of 1 attacks stopped here; the plain evaluator fell to 1, 0 out of its reach"
    )
    (row,) = Ledger(home / "ledger").rows("redteam")
    assert lines[3] == f"ledger id {row.id}"
    (tried,) = Ledger(home / "ledger").rows("redteam-trial")
    assert row.body["trials"] == [tried.id]
    assert tried.body["end"]["status"] == "wrong_value"
    assert _edge.run(["redteam", "--attack", "ignore_params", "--resume", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (again,) = shown["trials"]
    assert again == {**{key: tried.body.get(key) for key in again}, "ledger_id": tried.id}
    assert (shown["harness_hash"], shown["twins"]) == (row.body["harness_hash"], 0)


def test_attacks_are_listed_whatever_they_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["redteam", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["attack", "class", "exploits", "devices"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert rows["nan_mask"] == ["semantic", "72", "cpu"]
    assert rows["ring_early"] == ["protocol", "-", "cpu"]
    assert rows["l2_prefetch_gap"][-2:] == ["cpu,", "cuda"]
    assert _edge.run(["redteam", "--list", "--attack", "nan_mask", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["attack"], shown["devices"]) == ("nan_mask", ["cpu"])
    assert _edge.run(["redteam", "--list", "--class", "odd"]) == 64


def test_an_interrupt_ends_with_one_line_that_says_how_to_go_on(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "fight_plain", interrupted)
    assert _edge.run(["redteam"]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    wanted = len(suite.choose(None, (), "cpu")) + len(suite.choose_twins("cpu"))
    assert captured.err == (
        f"assay: interrupted with 0 of {wanted} on record "
        "(the same command with --resume goes on from there)\n"
    )


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
