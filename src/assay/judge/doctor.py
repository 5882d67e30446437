"""Looks a host over for a judgement: the device, then compiler, ledger, extras and noise."""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from assay.device.doctor import Finding
from assay.device.doctor import Mark
from assay.device.doctor import examine_device
from assay.device.runners import Target
from assay.judge.build import compiler
from assay.judge.case import Case
from assay.judge.referee import Referee
from assay.judge.referee import Report
from assay.ledger import default_path
from assay.spec.errors import AssayError
from assay.spec.errors import quote
from assay.spec.rules import Budget
from assay.spec.verdict import TaskVerdict

_VERSION_SECONDS = 10
# A judgement of four rows writes under 100 kB.
_LEAST_DISK = 64 << 20
NOISE_BUDGET = Budget(task_seconds=6.0)
_NOISE = "noise floor"
_FLOOR = "differences below the floor are not called differences"


def examine_host() -> tuple[Finding, ...]:
    """The whole checklist; none of it changes anything."""
    return (*examine_device(), _compiler(), _ledger(), _disk(), _duckdb(), _git())


def is_fit(findings: tuple[Finding, ...]) -> bool:
    """Whether the cpu judge can work at its full label."""
    return all(finding.mark is not Mark.MISS for finding in findings)


def _compiler() -> Finding:
    enables = "C++ solutions, and the copy twin"
    tool = compiler(Target("cpu"))
    if tool is None:
        return Finding(
            name="compiler",
            mark=Mark.MISS,
            found="none: C++ baselines cannot be built, so the shipped tasks cannot be judged",
            enables=enables,
            next_step="install one, for example: apt-get install g++",
        )
    found = _first_line([tool, "--version"]) or f"{Path(tool).name}, which says no version"
    return Finding(name="compiler", mark=Mark.OK, found=found, enables=enables)


def _ledger() -> Finding:
    """A ledger is made where it is first written, so the nearest folder that exists decides.

    A nameless file is tried there: permissions say too much to root and on read-only mounts.
    """
    shown = quote(default_path())
    enables = "every verdict with its evidence"
    try:
        with tempfile.TemporaryFile(dir=_nearest(default_path())):
            return Finding(name="ledger", mark=Mark.OK, found=shown, enables=enables)
    except OSError as error:
        return Finding(
            name="ledger",
            mark=Mark.MISS,
            found=f"{shown} cannot be written: {error.strerror}; verdicts cannot be kept",
            enables=enables,
            next_step="set ASSAY_HOME to a folder you may write to",
        )


def _nearest(path: Path) -> Path:
    # os.path.exists takes a folder that may not be searched for one that is not there.
    every = (path.absolute(), *path.absolute().parents)
    return next(folder for folder in every if os.path.exists(folder))


def _disk() -> Finding:
    enables = "rows and samples of the ledger"
    try:
        free = shutil.disk_usage(_nearest(default_path())).free
    except OSError as error:
        found = f"not visible: {error.strerror}"
        return Finding(name="disk", mark=Mark.INFO, found=found, enables=enables)
    enough = free >= _LEAST_DISK
    return Finding(
        name="disk",
        mark=Mark.OK if enough else Mark.MISS,
        found=f"{free / 2**30:.1f} GiB free",
        enables=enables,
        next_step="" if enough else f"free {_LEAST_DISK >> 20} MiB, or set ASSAY_HOME elsewhere",
    )


def _duckdb() -> Finding:
    there = importlib.util.find_spec("duckdb") is not None
    return Finding(
        name="duckdb",
        mark=Mark.OK if there else Mark.INFO,
        found="there" if there else "not installed",
        enables="assay ledger query",
        next_step="" if there else "pip install 'assay-kernels[query]'",
    )


def _git() -> Finding:
    there = shutil.which("git") is not None
    return Finding(
        name="git",
        mark=Mark.OK if there else Mark.INFO,
        found=(_first_line(["git", "--version"]) or "there") if there else "not installed",
        enables="tasks and evidence under version control",
        next_step="" if there else "install git, if you want it",
    )


def _first_line(command: list[str]) -> str:
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return quote(answer.stdout.partition("\n")[0].strip())


def measure_noise(
    case: Case, budget: Budget = NOISE_BUDGET, report: Report | None = None
) -> Finding:
    """Judge a case's baseline against itself: what is left is the noise of this host."""
    try:
        verdict = Referee(case, budget=budget, report=report).judge().verdict
    except AssayError as error:
        return _not_measured(str(error))
    return noise_finding(verdict)


def _not_measured(reason: str) -> Finding:
    return Finding(
        name=_NOISE,
        mark=Mark.INFO,
        found=f"not measured: {quote(reason)}",
        enables=_FLOOR,
        next_step="mend what is missing, end other work, try again",
    )


def noise_finding(verdict: TaskVerdict) -> Finding:
    """The floor of a baseline judged against itself, as one line of the checklist."""
    floors = [row.measurement.floor for row in verdict.rows if row.measurement is not None]
    if verdict.geomean is None or verdict.interval is None or not floors:
        return _not_measured(verdict.reason or verdict.verdict)
    floor = math.expm1(math.fsum(map(math.log1p, floors)) / len(floors))
    low, high = verdict.interval
    return Finding(
        name=_NOISE,
        mark=Mark.OK if low <= 1 <= high else Mark.INFO,
        found=f"{floor:.2%} on {verdict.task}; baseline against itself {verdict.geomean:.4f} "
        f"({low:.4f}-{high:.4f})",
        enables=_FLOOR,
        next_step="" if low <= 1 <= high else "the interval misses 1: end other work, try again",
    )
