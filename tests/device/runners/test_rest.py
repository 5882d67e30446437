"""A runner that works out of turn is seen, in whatever process or thread it does so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assay.device.runners import rest
from assay.device.runners.rest import Rest
from assay.device.runners.rest import Unrest
from assay.device.runners.rest import processor_nanoseconds

BUSY = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\n"
SCRIPTS = {
    "itself": BUSY,
    "thread": f"import threading\nt = threading.Thread(target=exec, args=({BUSY!r},))\n"
    "t.start()\nt.join()\n",
    "child": f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BUSY!r}"
    " + 'import time; time.sleep(60)'])\nimport time\ntime.sleep(0.5)\n",
}
WAIT = (
    "import sys\nprint('up', flush=True)\nsys.stdin.readline()\n{work}\nprint('done', flush=True)\n"
)


@contextmanager
def waiting(work: str) -> Iterator[subprocess.Popen[str]]:
    """A process that waits for a line, works, says so and waits for another."""
    script = WAIT.format(work=work) + "sys.stdin.readline()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
    finally:
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def worked(process: subprocess.Popen[str]) -> int:
    rest = Rest(process.pid)
    rest.begin()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    return rest.end()


@pytest.mark.parametrize("kind", list(SCRIPTS))
def test_work_in_a_rest_is_seen(kind: str) -> None:
    with waiting(SCRIPTS[kind]) as process:
        assert worked(process) >= 50_000_000


def test_a_rest_that_is_one_is_let_be() -> None:
    with waiting("import time\ntime.sleep(0.3)") as process:
        assert worked(process) == 0


def test_a_little_work_is_an_accident_once_and_no_accident_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = iter(range(0, 1 << 40, 5_000_000))
    monkeypatch.setattr(rest, "processor_nanoseconds", lambda pid: next(used))
    watched = Rest(1)
    found = []
    for _ in range(5):
        watched.begin()
        found.append(watched.end())
    assert found == [0, 0, 0, 5_000_000, 5_000_000]


def test_accidents_that_are_far_apart_stay_accidents(monkeypatch: pytest.MonkeyPatch) -> None:
    used, now = [0], [0]
    monkeypatch.setattr(rest, "processor_nanoseconds", lambda pid: used[0])
    monkeypatch.setattr("assay.device.runners.rest.time.monotonic_ns", lambda: now[0])
    watched = Rest(1)
    for number in range(100):
        watched.begin()
        used[0] += 5_000_000 if number % 8 == 0 else 0
        now[0] += 100_000_000
        assert watched.end() == 0


def test_processes_of_one_program_answer_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter(range(0, 1 << 40, 5_000_000))
    monkeypatch.setattr(rest, "processor_nanoseconds", lambda pid: next(used))
    together, found = Unrest(), []
    for pid in range(1, 6):
        watched = Rest(pid, together)
        watched.begin()
        found.append(watched.end())
    assert found == [0, 0, 0, 5_000_000, 5_000_000]


def test_without_a_beginning_there_is_no_rest() -> None:
    assert Rest(1).end() == 0


def test_a_process_that_is_gone_has_used_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    assert processor_nanoseconds(gone.pid) == 0
