from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli import _edge
from assay.cli.refresh import refresh
from assay.cli.snapshot import snapshot
from assay.judge.case import Case
from assay.spec.errors import UsageError
from tests.task.snapshot.making import CLOSURE
from tests.task.snapshot.making import FILES
from tests.task.snapshot.making import contents
from tests.task.snapshot.making import make_task
from tests.task.snapshot.making import publish

MAKE = [
    *("snapshot", "--package", "tiny==1.0", "--entry", "silu=tiny.ops.act:silu"),
    *("--task", "./silu", "--name", "upstream", "--shim", "tiny=imports the server"),
    *("--wheels", "wheels"),
]
PLACE = Path("silu/baselines/upstream")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with wheels and a task, and a command line that has the two verbs."""
    app = typer.Typer()
    app.command()(snapshot)
    app.command()(refresh)
    monkeypatch.setattr(_edge, "app", app)
    monkeypatch.chdir(tmp_path)
    make_task(tmp_path / "silu")
    publish(tmp_path / "wheels")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_new_lock_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(MAKE) == 0
    lines = said(capsys)
    size = -(-sum(len(FILES[path]) for path in CLOSURE) // 1024)
    assert lines[0] == f"tiny 1.0: {len(CLOSURE)} files, {size} KiB, 1 shims"
    assert lines[1].split() == ["needs", "here"]
    assert lines[2].split()[0] == "torch>=2.1"
    assert lines[-1] == f"written to {PLACE}"


def test_a_baseline_that_the_task_does_not_name_yet_is_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(PLACE, "silu/baselines/other")
    assert _edge.run([word if word != "upstream" else "other" for word in MAKE]) == 0
    assert said(capsys)[-1] == (
        'task.toml does not name it yet: kind = "wheel", path = "baselines/other"'
    )


def test_json_holds_the_lock_and_who_imports_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run([*MAKE, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["lock"] == json.loads((PLACE / "baseline.lock").read_text())
    assert made["imported_by"]["tiny.ops.late"] == "tiny.ops.act"
    assert set(made["installed"]) == {"torch>=2.1"}


@pytest.mark.parametrize("address", ["./silu", "./silu/upstream", "silu/upstream"])
def test_a_lock_is_restored_by_task_and_by_baseline(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(MAKE) == 0
    before = contents(PLACE)
    shutil.rmtree(PLACE / "snapshot")
    capsys.readouterr()
    assert _edge.run(["snapshot", address, "--wheels", "wheels"]) == 0
    assert said(capsys)[0].startswith(f"upstream: tiny 1.0, {len(CLOSURE)} files")
    assert contents(PLACE) == before
    assert _edge.run(["snapshot", address, "--wheels", "wheels", "--json"]) == 0
    (restored,) = json.loads(capsys.readouterr().out)
    assert (restored["name"], restored["files"]) == ("upstream", len(CLOSURE))


def test_refresh_says_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(MAKE) == 0
    newer = FILES["tiny/numerics.py"] + "\n"
    publish(Path("wheels"), "1.1", {**FILES, "tiny/numerics.py": newer})
    capsys.readouterr()
    command = ["refresh", "./silu/upstream", "--version", "1.1", "--wheels", "wheels"]
    assert _edge.run(command) == 0
    lines = said(capsys)
    assert lines[0] == "tiny 1.0 to 1.1"
    assert lines[2].split() == ["changed", "tiny/numerics.py"]
    assert lines[-1] == f"{len(CLOSURE) - 1} of {len(CLOSURE)} files are the same, bit for bit"
    assert _edge.run([*command, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["before"], again["changed"]) == ("1.1", [])


def test_refresh_judges_the_newer_version_against_the_older_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[Case] = []

    def judge(referee: Any) -> None:
        cases.append(referee._case)
        raise UsageError("seen enough")

    monkeypatch.setattr("assay.judge.referee.Referee.judge", judge)
    assert _edge.run(MAKE) == 0
    publish(Path("wheels"), "1.1")
    command = ["refresh", "./silu/upstream", "--version", "1.1", "--wheels", "wheels", "--judge"]
    assert _edge.run(command) == 64
    (case,) = cases
    assert case.baseline.lock is not None
    assert case.candidate.lock is not None
    assert (case.baseline.lock.version, case.candidate.lock.version) == ("1.0", "1.1")
    assert "baseline against baseline" in case.labels
    assert "tiny 1.0 to 1.1" in said(capsys)
    shutil.rmtree(PLACE / "snapshot")
    assert _edge.run(command) == 64
    assert "the files of tiny 1.1 are not here" in capsys.readouterr().err


def with_change(option: str, value: str) -> list[str]:
    command = list(MAKE)
    command[command.index(option) + 1] = value
    return command


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["snapshot"], "name a task to restore, or make a lock with --package"),
        (["snapshot", "./silu", "--name", "x"], "name a task to restore, or make a lock"),
        ([*MAKE, "./silu"], "a new lock takes --package, --entry, --task and --name, and no"),
        (with_change("--package", "tiny"), "--package: tiny is no pinned package"),
        (with_change("--package", "tiny==9"), "no wheel of tiny 9 (there is tiny 1.0)"),
        (with_change("--entry", "silu"), "--entry: silu is not FUNCTION=MODULE:ATTRIBUTE"),
        (with_change("--entry", "gelu=a:b"), "own/silu has no function gelu (there is silu)"),
        (with_change("--entry", "silu=tiny.a:b"), "tiny 1.0: there is no module tiny.a"),
        (with_change("--wheels", "none"), "none: not a folder"),
        (with_change("--name", "naive"), "own/silu: naive: a local baseline, not one out of a"),
        ([*MAKE, "--shim", "tiny=again"], "--shim: tiny stands twice"),
        ([*MAKE, "--shim", "tiny.models=x"], "the shim for tiny.models is not written"),
        ([*MAKE, "--also", "tiny.nope"], "there is no module or file tiny.nope"),
        (["snapshot", "./silu/naive"], "own/silu: naive: a local baseline"),
        (["snapshot", "./silu/other"], "own/silu: other: no such baseline"),
        (["snapshot", "./nowhere/x"], "./nowhere/x: no such task"),
        (["snapshot", "cpu/rms_norm"], "no baseline of this task is out of a wheel"),
        (["snapshot", "./silu"], "baseline.lock: there is no such file"),
        (["refresh", "./silu/upstream", "--version", "1 1"], "package==1 1 is no pinned package"),
        (["refresh", "./silu/upstream", "--version", "1.1"], "baseline.lock: there is no such"),
    ],
)
def test_a_mistake_is_one_line_with_status_64_and_leaves_nothing(
    command: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(Path())
    assert _edge.run(command) == 64
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1
    assert contents(Path()) == before


def test_a_changed_byte_and_another_wheel_are_a_no(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _edge.run(MAKE) == 0
    publish(Path("wheels"), files={**FILES, "tiny/added.py": ""})
    assert _edge.run(["snapshot", "./silu", "--wheels", "wheels"]) == 1
    assert "not the wheel that was pinned" in capsys.readouterr().err


def test_both_verbs_are_verbs_of_task() -> None:
    from assay.cli import task

    names: list[Any] = [command.callback for command in task.app.registered_commands]
    assert snapshot in names
    assert refresh in names
