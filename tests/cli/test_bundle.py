from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli import _edge
from assay.cli import bundle
from assay.ledger import Row
from assay.spec.rules import QUICK_BUDGET
from assay.spec.rules import Budget
from assay.task import load_task
from assay.task.replay import Agreement
from assay.task.replay import Replay
from tests.judge.claims import TASK
from tests.judge.claims import judged
from tests.judge.claims import stored


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """A stored claim, and a working folder whose ledger holds it."""
    app = typer.Typer()
    app.add_typer(bundle.app, name="bundle")
    monkeypatch.setattr(_edge, "app", app)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    return stored(tmp_path / ".assay/ledger")[1]


def test_make_then_verify(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["bundle", "make", row.id, "--to", "x.assay"]) == 0
    assert capsys.readouterr().out == "x.assay\n"
    assert _edge.run(["bundle", "verify", "x.assay"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("claim   cpu/rms_norm: FASTER  geomean 1.2")
    assert shown[-1] == ("16 entries, 3 row verdicts computed again from their samples, 0 problems")


def test_make_says_what_it_made_as_json(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bundle", "make", row.id, "--ledger", ".assay/ledger", "--json"]
    assert _edge.run(command) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["path"] == f"cpu-rms_norm-{row.id}.assay"
    assert (made["ok"], made["verdict_hash"]) == (True, row.hash)
    assert Path(made["path"]).is_file()


def test_a_damaged_bundle_is_named_and_1(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["bundle", "make", row.id, "--to", "x.assay"]) == 0
    data = bytearray(Path("x.assay").read_bytes())
    data[100] ^= 1
    Path("x.assay").write_bytes(data)
    capsys.readouterr()
    assert _edge.run(["bundle", "verify", "x.assay"]) == 1
    said = "problem baseline/rms_norm.cpp: not the bytes that the manifest seals"
    assert said in capsys.readouterr().out.splitlines()
    assert _edge.run(["bundle", "verify", "x.assay", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["make", "ffffffff"], 64, "no row ffffffff"),
        (["make", "nonsense"], 64, "is no row id"),
        (["verify", "none.assay"], 64, "none.assay: cannot be read: No such file"),
        (["replay", "none.assay", "--budget", "soon"], 64, "soon is no length of time"),
        (["make", "ffffffff", "--ledger", "nowhere"], 64, "no ledger here"),
    ],
)
def test_mistakes_are_one_line(
    row: Row, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, said: str
) -> None:
    assert _edge.run(["bundle", *arguments]) == status
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(("agrees", "status"), [(kind, kind.exit_status) for kind in Agreement])
def test_replay_prints_both_geomeans_and_its_answer(
    row: Row,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    agrees: Agreement,
    status: int,
) -> None:
    verdict = judged(load_task(TASK)).verdict
    asked: dict[str, Any] = {}

    def found(path: Path, **options: Any) -> Replay:
        asked.update(options)
        return Replay(
            agreement=agrees, claimed=verdict, found=verdict, hardware=("cores: 96 there, 2 here",)
        )

    monkeypatch.setattr("assay.cli.bundle.replay_bundle", found)
    assert _edge.run(["bundle", "replay", "x.assay", "--quick"]) == status
    shown = capsys.readouterr().out.splitlines()
    assert asked["budget"] == QUICK_BUDGET
    assert shown[0].startswith("claimed cpu/rms_norm: FASTER  geomean 1.2")
    assert shown[1].startswith("here    cpu/rms_norm: FASTER  geomean 1.2")
    assert shown[2:] == [
        "the two intervals meet",
        "cores: 96 there, 2 here",
        f"replay: {agrees.replace('_', ' ')}",
    ]
    assert _edge.run(["bundle", "replay", "x.assay", "--budget", "9s", "--json"]) == status
    answer = json.loads(capsys.readouterr().out)
    assert asked["budget"] == Budget(task_seconds=9.0)
    assert (answer["agreement"], answer["intervals_meet"]) == (agrees.value, True)
