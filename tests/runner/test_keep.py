from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.runner.keep import OUT_OF_TIME

# A child in a session of its own, whose parent is gone: no group and no parent leads to it.
ESCAPING = """
import os, pathlib, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
    time.sleep(600)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
"""


def keep(seconds: float, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay.runner.keep", str(seconds), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def ended(keeper: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    with keeper:
        assert keeper.stdout is not None
        output = keeper.stdout.read()
        keeper.wait()
    return keeper.returncode, output


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 86", 86), ("kill -9 $$", 137)]
)
def test_a_command_that_ends_in_time_gives_its_own_status(script: str, status: int) -> None:
    assert ended(keep(60, "sh", "-c", f"echo word; {script}")) == (status, b"word\n")


def test_a_command_is_given_nothing_to_read() -> None:
    assert ended(keep(60, "cat")) == (0, b"")


@pytest.mark.parametrize(
    ("afterwards", "seconds", "status"), [("", 60, 0), ("time.sleep(600)", 6, OUT_OF_TIME)]
)
def test_nothing_that_it_started_is_left(
    tmp_path: Path, afterwards: str, seconds: float, status: int
) -> None:
    # Both when the command ends by itself and when it is out of time.
    note = tmp_path / "pid"
    command = (sys.executable, "-c", ESCAPING + afterwards, str(note))
    assert ended(keep(seconds, *command))[0] == status
    assert not lives(int(note.read_text()))


def test_it_ends_with_whoever_asked_for_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    keeper = keep(600, sys.executable, "-c", ESCAPING + "time.sleep(600)", str(note))
    while not note.exists() or not note.read_text():
        time.sleep(0.01)
    with keeper:
        assert keeper.stdin is not None
        keeper.stdin.close()
        assert keeper.wait(timeout=30) == OUT_OF_TIME
    assert not lives(int(note.read_text()))
