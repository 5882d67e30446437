"""`assay task import`, `assay task export` and `assay ledger export` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli import _edge
from tests.task.exchange import folders
from tests.task.exchange import problems
from tests.task.exchange import traces


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = _edge.run(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_problem_is_imported_and_a_wrong_solution_of_it_is_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("problem").mkdir()
    Path("problem/54_Convolution.py").write_text(problems.CONVOLUTION)
    Path("problem/wrong.py").write_text(problems.WRONG_NEW)
    status, out, _ = run(capsys, "task", "import", "problem", "--into", "tasks/convolution")
    assert status == 0
    assert out.splitlines() == [
        "kernelbench: kernelbench/54_Convolution, 1 row, in tasks/convolution",
        "solution  wrong",
    ]
    arguments = ("tasks/convolution", "--candidate", "wrong", "--unadmitted", "--json")
    status, out, _ = run(capsys, "judge", *arguments)
    assert status == 1
    verdict = json.loads(out)
    assert verdict["verdict"] == "wrong_value"
    assert "task not admitted" in verdict["labels"]
    # And that verdict is a trace for others.
    traced = ("--flashinfer-trace", "t.jsonl", "--task", "tasks/convolution")
    status, out, _ = run(capsys, "ledger", "export", *traced)
    assert (status, out) == (0, "1 traces in t.jsonl\n")
    trace = json.loads(Path("t.jsonl").read_text())
    assert trace["solution"] == "wrong"
    assert trace["evaluation"]["status"] == "INCORRECT_NUMERICAL"


def test_the_form_is_recognised_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    folders.write_folder(Path("theirs"))
    Path("kda").mkdir()  # an empty folder will do
    status, out, _ = run(capsys, "task", "import", "theirs", "--into", "kda")
    assert status == 0
    assert out.splitlines()[0] == "kda: kda/cpu_scaled_add__multi_shape, 3 rows, in kda"
    rows = [traces.workload("a", {"batch_size": 3})]
    path = traces.write_set(Path("set"), traces.definition(), rows)
    status, out, _ = run(capsys, "task", "import", str(path), "--into", "fib", "--json")
    assert status == 0
    content = json.loads(out)
    assert (content["form"], content["task"]) == ("flashinfer", "flashinfer/rmsnorm_h48")
    assert content["rows"] == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nothing", "--into", "t"), "assay: nothing: there is no such file or folder"),
        (
            ("notes.txt", "--into", "t"),
            "assay: notes.txt: no KernelBench problem, no FlashInfer-Bench definition and no "
            "KDA-Pilot task (name its form with --from to be told what is missing)",
        ),
        (
            ("notes.txt", "--into", "t", "--from", "flashinfer"),
            "assay: notes.txt: not JSON: Expecting value: line 1 column 1 (char 0)",
        ),
        (("notes.txt", "--into", "t", "--from", "kda"), "assay: notes.txt: not a folder"),
    ],
)
def test_bad_input_gets_one_clear_line(
    arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("hello\n")
    status, out, err = run(capsys, "task", "import", *arguments)
    assert (status, out, err) == (64, "", f"{line}\n")
    assert not Path("t").exists()


def test_a_task_goes_out_and_comes_in_again(capsys: pytest.CaptureFixture[str]) -> None:
    export = ("task", "export", "cpu/rms_norm", "out", "--to", "kda", "--solution", "win")
    status, out, _ = run(capsys, *export)
    assert status == 0
    assert out.splitlines()[0] == "kda: 3 rows in out, solution win"
    status, out, _ = run(capsys, "task", "import", "out", "--into", "back")
    assert status == 0
    assert out.splitlines() == ["kda: cpu/rms_norm, 3 rows, in back", "solution  candidate"]
    status, _, err = run(capsys, *export)
    assert status == 64
    assert err == "assay: out: there is something already (name a new or empty folder)\n"
    status, _, err = run(capsys, "task", "export", "cpu/rms_norm", "o", "--to", "flashinfer")
    assert status == 64
    assert err.startswith("assay: --to: a task is not exported to flashinfer")


def test_a_ledger_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "ledger", "export", "no", "--flashinfer-trace", "t.jsonl")
    assert status != 0
    assert err.count("\n") == 1
    assert not Path("t.jsonl").exists()
