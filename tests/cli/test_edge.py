from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.spec.errors import AssayError
from assay.spec.errors import DocumentError
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UsageError("what", where="here", next_step="do it"), 64, "assay: here: what (do it)\n"),
        (
            DocumentError("bad key", where="task.toml: key a"),
            64,
            "assay: task.toml: key a: bad key\n",
        ),
        (
            UnavailableError("no duckdb", next_step="pip install x"),
            69,
            "assay: no duckdb (pip install x)\n",
        ),
        (StorageError("disk full", where="d"), 74, "assay: d: disk full\n"),
        (EvidenceError("fork"), 1, "assay: fork\n"),
        (KeyboardInterrupt(), 130, "assay: interrupted\n"),
        (
            OSError(28, "No space left on device", "f\x1b"),
            74,
            "assay: f\\x1b: No space left on device\n",
        ),
    ],
)
def test_each_error_of_ours_is_one_line_and_its_exit_status(
    error: BaseException,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("assay.cli.demo.demonstrate", fail)
    assert _edge.run(["demo"]) == status
    captured = capsys.readouterr()
    assert captured.err.endswith(line)
    assert "Traceback" not in captured.err


def test_an_error_that_is_not_the_users_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("assay.cli.demo.demonstrate", fail)
    with pytest.raises(ZeroDivisionError):
        _edge.run(["demo"])


@pytest.mark.parametrize(
    "arguments", [["nope"], ["demo", "--nope"], ["schema"], ["ledger", "nope"], ["demo", "extra"]]
)
def test_misuse_of_the_command_line_is_one_line_and_64(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(arguments) == 64
    captured = capsys.readouterr()
    assert captured.err.startswith("assay: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run([]) == 64
    assert "Usage: assay" in capsys.readouterr().out


def test_help_is_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["--help"]) == 0
    assert "ledger" in capsys.readouterr().out


def test_every_error_of_the_tree_has_an_exit_status_above_zero() -> None:
    pending: list[type[AssayError]] = [AssayError]
    while pending:
        kind = pending.pop()
        assert kind.exit_status > 0
        pending += kind.__subclasses__()


def test_a_reader_that_goes_away_is_not_an_error(tmp_path: Path) -> None:
    process = subprocess.run(
        f"{sys.executable} -m assay --help | true",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "Traceback" not in process.stderr


def test_schema_writes_every_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["schema", str(tmp_path / "s")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(os.listdir(tmp_path / "s")) == 14
