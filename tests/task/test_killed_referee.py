"""The referee killed with SIGKILL: its runners go too, the ledger is sound, the next run works."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.judge.evidence import recheck
from assay.ledger import Ledger
from assay.ledger import verify


def processes_of(marker: str) -> list[int]:
    """Live processes whose environment names this run: referee, zygote, keepers and runners."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            environment = Path(f"/proc/{entry}/environ").read_bytes()
            state = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in environment and state != "Z":
            found.append(int(entry))
    return found


def start(home: Path, marker: str, budget: str = "4s") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "assay", "judge", "cpu/rms_norm", "--candidate", "win"]
    # PYTHONPATH is one of the few variables that runners keep, so it carries the mark.
    environment = {**os.environ, "ASSAY_HOME": str(home), "PYTHONPATH": f"{marker}"}
    return subprocess.Popen(
        [*command, "--budget", budget, "--unadmitted"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_at(home: Path, delay: float, number: int) -> None:
    marker = f"/nowhere/assay-killed-{os.getpid()}-{number}"
    referee = start(home, marker)
    time.sleep(delay)
    referee.send_signal(signal.SIGKILL)
    referee.wait()
    deadline = time.monotonic() + 2.0
    while (left := processes_of(marker)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, f"killed after {delay:.2f} s, still there after 2 s: {left}"
    if (home / "ledger").is_dir() and any((home / "ledger").glob("*.jsonl")):
        assert verify(Ledger(home / "ledger"), recompute=recheck).problems == ()


def left_by_runners() -> set[str]:
    """A build folder of a killed referee may stay (the system clears /tmp), a runner's may not."""
    shared = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if "assay" in name}
    return shared | {f"/tmp/{name}" for name in os.listdir("/tmp") if "assay-runner-" in name}


def assert_nothing_is_left_in_shared_folders(before: set[str]) -> None:
    # Other tests' runners come and go meanwhile; what a kill left behind stays.
    deadline = time.monotonic() + 20.0
    while (left := left_by_runners() - before) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left


def run_kills(home: Path, count: int, longest: float, seed: int) -> None:
    points = random.Random(seed)
    before = left_by_runners()
    for number in range(count):
        kill_at(home, points.uniform(0.0, longest), number)
    assert_nothing_is_left_in_shared_folders(before)


def run_to_the_end(home: Path) -> None:
    # On a busy host 4 s may not buy a verdict.
    finished = start(home, "/nowhere/assay-finished", budget="30s")
    assert finished.wait(timeout=300) in {0, 1, 2}
    report = verify(Ledger(home / "ledger"), recompute=recheck)
    assert report.problems == ()
    assert report.recomputed >= 1


def test_a_killed_referee_takes_its_runners_along(tmp_path: Path) -> None:
    run_kills(tmp_path, count=3, longest=8.0, seed=1)


@pytest.mark.long
def test_two_hundred_kills_leave_nothing_behind(tmp_path: Path) -> None:
    run_kills(tmp_path, count=200, longest=8.0, seed=2)
    run_to_the_end(tmp_path)
