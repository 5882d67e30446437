from __future__ import annotations

import errno
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.device.doctor import Finding
from assay.device.doctor import Mark
from assay.judge import doctor
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.doctor import examine_host
from assay.judge.doctor import is_fit
from assay.judge.doctor import measure_noise
from assay.judge.doctor import noise_finding
from assay.judge.referee import Judgement
from assay.spec.errors import UnavailableError
from assay.spec.rules import Budget
from assay.task import load_baseline
from assay.task import load_task
from tests.judge.claims import TASK
from tests.judge.claims import crashed
from tests.judge.claims import judged


def a_finding(mark: Mark) -> Finding:
    return Finding(name="x", mark=mark, found="y", enables="z")


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setattr(doctor, "examine_device", lambda: (a_finding(Mark.OK),))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    return monkeypatch


def named(name: str) -> Finding:
    return next(finding for finding in examine_host() if finding.name == name)


def test_the_device_comes_first_and_every_line_is_there(patch: pytest.MonkeyPatch) -> None:
    names = [finding.name for finding in examine_host()]
    assert names == ["x", "compiler", "ledger", "disk", "duckdb", "git"]


def test_only_what_is_missed_makes_a_host_unfit() -> None:
    assert is_fit((a_finding(Mark.OK), a_finding(Mark.INFO)))
    assert not is_fit((a_finding(Mark.OK), a_finding(Mark.MISS)))


def test_a_compiler_and_its_version(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\necho 'g++ 99.1'\necho more\n")
    tool.chmod(0o755)
    patch.setattr(doctor, "compiler", lambda _: str(tool))
    assert (named("compiler").mark, named("compiler").found) == (Mark.OK, "g++ 99.1")
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert named("compiler").found == "g++, which says no version"


def test_no_compiler(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor, "compiler", lambda _: None)
    assert named("compiler").mark is Mark.MISS
    assert "apt-get install g++" in named("compiler").next_step


def test_a_ledger_that_is_not_there_yet_can_be_made(
    patch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patch.setenv("ASSAY_HOME", str(tmp_path / "a/b"))
    assert named("ledger").mark is Mark.OK
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_cannot_be_written(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Root may write anywhere but here: /proc makes nobody a folder.
    patch.setenv("ASSAY_HOME", "/proc/nope")
    assert named("ledger").mark is Mark.MISS
    assert named("ledger").next_step == "set ASSAY_HOME to a folder you may write to"

    def read_only(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    patch.setenv("ASSAY_HOME", str(tmp_path))
    patch.setattr(tempfile, "TemporaryFile", read_only)
    assert named("ledger").found == (
        f"{tmp_path}/ledger cannot be written: Read-only file system; verdicts cannot be kept"
    )


def test_a_home_that_is_a_file(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    patch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    assert named("ledger").mark is Mark.MISS


@pytest.mark.parametrize(
    ("free", "mark", "found"),
    [(63 << 20, Mark.MISS, "0.1 GiB free"), (3 << 30, Mark.OK, "3.0 GiB free")],
)
def test_disk(patch: pytest.MonkeyPatch, free: int, mark: Mark, found: str) -> None:
    patch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert (named("disk").mark, named("disk").found) == (mark, found)


def test_a_disk_that_does_not_say(patch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise OSError(13, "Permission denied")

    patch.setattr(shutil, "disk_usage", refuse)
    assert named("disk").found == "not visible: Permission denied"


@pytest.mark.parametrize(("there", "mark"), [(True, Mark.OK), (False, Mark.INFO)])
def test_duckdb(patch: pytest.MonkeyPatch, there: bool, mark: Mark) -> None:
    patch.setattr("importlib.util.find_spec", lambda name: object() if there else None)
    assert named("duckdb").mark is mark


def test_git(patch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 10)

    patch.setattr(doctor, "compiler", lambda _: None)
    patch.setattr(shutil, "which", lambda name: "/usr/bin/git")
    patch.setattr(subprocess, "run", fail)
    assert (named("git").mark, named("git").found) == (Mark.OK, "there")
    patch.setattr(shutil, "which", lambda name: None)
    assert (named("git").mark, named("git").found) == (Mark.INFO, "not installed")


# -- noise


def a_case() -> Case:
    task = load_task(TASK)
    loaded = load_baseline(task)
    one = Contender(loaded.sealed, loaded.sources)
    return Case(task.task, task.content_hash, task.workloads.rows, task.reference, one, one)


def test_the_noise_floor_is_the_mean_of_the_rows_floors() -> None:
    verdict = judged(load_task(TASK), 0.0).verdict
    found = noise_finding(verdict)
    # The fake device's jitter is below the least floor that the rules allow, half a percent.
    assert found.mark is Mark.OK
    assert verdict.geomean is not None
    said = f"0.50% on cpu/rms_norm; baseline against itself {verdict.geomean:.4f}"
    assert found.found.startswith(said)


def test_a_host_on_which_a_baseline_differs_from_itself_is_told_so() -> None:
    found = noise_finding(judged(load_task(TASK), 0.25).verdict)
    assert found.mark is Mark.INFO
    assert "misses 1" in found.next_step


def test_noise_that_was_not_measured_says_why() -> None:
    found = noise_finding(crashed(load_task(TASK)).verdict)
    assert found.mark is Mark.INFO
    assert found.found.startswith("not measured: row ")
    assert "SIGSEGV" in found.found


def test_measuring_noise_judges_the_case_within_its_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {}

    class Quiet:
        def __init__(self, case: Case, **options: Any) -> None:
            asked.update(options, case=case)

        def judge(self) -> Judgement:
            return judged(load_task(TASK), 0.0)

    monkeypatch.setattr(doctor, "Referee", Quiet)
    case = a_case()
    assert measure_noise(case, Budget(task_seconds=2.0)).mark is Mark.OK
    assert asked["case"] is case
    assert asked["budget"] == Budget(task_seconds=2.0)


def test_a_host_that_cannot_judge_gets_a_line_and_not_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise UnavailableError("no C++ compiler is installed")

    monkeypatch.setattr(doctor, "Referee", lacking)
    assert measure_noise(a_case()).found == "not measured: no C++ compiler is installed"
