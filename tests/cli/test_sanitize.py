"""`assay sanitize` from the command line, on a shipped task, with a stand-in for the tool."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.cli import _edge
from assay.device.cuda import toolkit
from assay.ledger import Ledger
from tests.judge.sanitizer_stand_in import REPORT
from tests.judge.sanitizer_stand_in import stand_in

ASKED = ("sanitize", "cpu/rms_norm", "--candidate", "torch", "--device", "cpu")
CLEAN = "called(); summary()"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(toolkit, "USUAL_TOOLKIT", tmp_path / "none")
    return tmp_path


def recorded(home: Path) -> dict[str, Any]:
    (row,) = Ledger(home / "home" / "ledger").rows("sanitizer")
    return row.body


def test_a_clean_candidate_is_0_and_on_record(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(home, "status = subprocess.run(command).returncode; summary(); sys.exit(status)")
    assert _edge.run([*ASKED, "--tool", "memcheck", "--tool", "racecheck", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    body = recorded(home)
    assert {key: shown[key] for key in body} == body
    assert (body["candidate"], body["device"], body["clean"]) == ("torch", "cpu", True)
    assert [(run["tool"], run["clean"]) for run in body["tools"]] == [
        ("memcheck", True),
        ("racecheck", True),
    ]
    # The smallest frozen row, and four that were drawn.
    assert len(body["rows"]) == 5
    assert len(body["candidate_hash"]) == 64


def test_a_finding_is_1_and_in_a_table(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in(home, REPORT.format(kernel="rms_norm"))
    assert _edge.run([*ASKED, "--tool", "initcheck"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cpu/rms_norm: torch is NOT CLEAN on 5 small rows"
    assert lines[1].split() == ["tool", "seconds", "findings", "result"]
    assert lines[2].split()[0::2] == ["initcheck", "1", "clean"]
    assert "Uninitialized __global__ memory read of size 4 bytes  rms_norm(float *)" in lines[5]
    assert recorded(home)["clean"] is False


def test_what_the_baseline_has_too_in_a_kernel_of_neither_is_excused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(home, REPORT.format(kernel="at::native::gather"))
    assert _edge.run([*ASKED, "--tool", "initcheck"]) == 0
    assert "(the baseline too)" in capsys.readouterr().out
    body = recorded(home)
    assert body["clean"] is True
    assert body["tools"][0]["findings"][0]["excused"] is True
    assert len(body["baseline_hash"]) == 64


def test_a_tool_that_is_out_of_time_is_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in(home, "time.sleep(600)")
    assert _edge.run([*ASKED, "--tool", "synccheck", "--budget", "2s"]) == 1
    assert "not finished within" in capsys.readouterr().out
    assert recorded(home)["clean"] is False


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--tool", "valgrind"], "--tool: no tool valgrind (one of memcheck, racecheck"),
        (["--budget", "soon"], "--budget: soon is no length of time (write 60s or 2m)"),
        (["--candidate", "none"], "cpu/rms_norm: none: no such solution"),
        (["--device", "abacus"], "no device is called abacus"),
    ],
)
def test_bad_input_is_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], more: list[str], line: str
) -> None:
    stand_in(home, CLEAN)
    assert _edge.run([*ASKED, *more]) == 64
    error = capsys.readouterr().err
    assert error.startswith(f"assay: {line}")
    assert error.count("\n") == 1
    assert not (home / "home").exists()


def test_without_the_tool_one_line_says_what_to_install(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(list(ASKED)) == 69
    assert capsys.readouterr().err == (
        f"assay: no compute-sanitizer on the PATH, in $CUDA_HOME/bin or in {home / 'none/bin'} "
        "(it is part of the CUDA toolkit: apt-get install cuda-sanitizer)\n"
    )
