"""The parts together: what a namespace hides, and that honest work goes on."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from assay.runner import landlock
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import PARTS
from assay.runner.sandbox import SECCOMP
from assay.runner.sandbox import Sandbox
from tests.runner.sandboxed import granted
from tests.runner.sandboxed import require
from tests.runner.sandboxed import said
from tests.runner.sandboxed import tried

PROCESSES = "say(os.getpid() == 1, [p for p in os.listdir('/proc') if p.isdigit()] == ['1'])"


def test_other_processes_are_not_seen(tmp_path: Path) -> None:
    require(NAMESPACES)
    assert said(PROCESSES, tmp_path) == ["True True"]
    assert said(PROCESSES, tmp_path, without=(NAMESPACES,)) == ["False False"]


# A network namespace of one's own has nothing in it, and its loopback is down.
@pytest.mark.parametrize(
    ("on", "error"), [(NAMESPACES, "OSError 101"), (SECCOMP, "PermissionError 1")]
)
def test_no_network_by_either_part_alone(tmp_path: Path, on: str, error: str) -> None:
    require(on)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"socket.create_connection(('127.0.0.1', {port}), 5).close()"
        code = f"import socket\nattempt(lambda: {connect})"
        every = (NAMESPACES, LANDLOCK, SECCOMP)
        off = [part for part in every if part != on]
        assert said(code, tmp_path, without=off) == [error]
        assert said(code, tmp_path, without=every) == ["None"]


def test_sockets_in_the_file_system_are_not_for_solutions(tmp_path: Path) -> None:
    require(SECCOMP)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        code = "import socket\nattempt(lambda: socket.socket(socket.AF_UNIX).connect('s'))"
        assert said(code, tmp_path) == ["PermissionError 1"]
        assert said(code, tmp_path, without=(SECCOMP,)) == ["None"]


def test_it_cannot_choose_to_outlive_its_keeper(tmp_path: Path) -> None:
    require(SECCOMP)
    code = "say(libc.prctl(1, 0, 0, 0, 0), ctypes.get_errno())"
    assert said(code, tmp_path) == ["-1 1"]
    assert said(code, tmp_path, without=(SECCOMP,)) == ["0 0"]


HONEST = """
import multiprocessing, shutil, signal, subprocess, tempfile, threading, time
seen = []
threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
say(sorted(seen) == list(range(8)))
with tempfile.TemporaryDirectory() as folder:
    open(folder + '/file', 'w').write('x')
    say(os.listdir(folder))
say(subprocess.run(['sh', '-c', 'echo word | tr a-z A-Z'], stdout=-1).stdout)
sleeper = subprocess.Popen(['sleep', '60'])
sleeper.kill()
say(sleeper.wait())
receiving, sending = multiprocessing.Pipe()
child = multiprocessing.get_context('fork').Process(target=sending.send, args=(7,))
child.start(); child.join()
say(receiving.recv(), child.exitcode)
signal.signal(signal.SIGUSR1, lambda *_: say('signal'))
signal.raise_signal(signal.SIGUSR1)
say(len(os.sched_getaffinity(0)) > 0)
"""
ANSWERS = ["True", "['file']", "b'WORD\\n'", "-9", "7 0", "signal", "True"]


def test_honest_work_goes_on(tmp_path: Path) -> None:
    assert said(HONEST, tmp_path) == ANSWERS


def test_a_compiler_and_what_it_made_can_be_used(tmp_path: Path) -> None:
    # As Triton does for its launcher: source to a temporary folder, cc, load.
    code = (
        "import subprocess, tempfile\n"
        "folder = tempfile.mkdtemp()\n"
        "open(folder + '/f.c', 'w').write('int f(void) { return 42; }')\n"
        "subprocess.run(['cc', '-shared', '-fPIC', '-O2', folder + '/f.c', '-o', folder + '/f.so'],"
        " check=True)\n"
        "say(ctypes.CDLL(folder + '/f.so').f())\n"
    )
    assert said(code, tmp_path) == ["42"]


def test_each_part_is_reported_and_can_be_left_out(tmp_path: Path) -> None:
    assert tried("", tmp_path).held == granted()
    for part in (LANDLOCK, SECCOMP):
        assert tried("", tmp_path, without=(part,)).held == {**granted(), part: False}
    # Mounts need a namespace to be in.
    alone = tried("", tmp_path, without=(NAMESPACES,)).held
    assert [part for part in PARTS if alone[part]] == [
        part for part in (LANDLOCK, SECCOMP) if granted()[part]
    ]


def test_an_old_landlock_is_used_and_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "restrict", lambda grants: landlock.ENOUGH_ABI - 1)
    sandbox = Sandbox()
    sandbox.enter_landlock("cpu", "/nowhere")
    assert not sandbox.held[LANDLOCK]


def test_without_a_private_folder_everybodys_is_not_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    granted: list[tuple[str, int]] = []

    def restrict(grants: list[tuple[str, int]]) -> int:
        granted.extend(grants)
        return 7

    monkeypatch.setattr(landlock, "restrict", restrict)
    sandbox = Sandbox()
    sandbox.enter_landlock("cpu", "/nowhere", ["/toolkit"])
    assert [path for path, rights in granted if rights == landlock.WRITE] == ["/nowhere"]
    # A driver of a GPU is given more.
    sandbox.enter_landlock("cuda", "/elsewhere")
    written = [path for path, rights in granted if rights == landlock.WRITE]
    assert written == ["/nowhere", "/elsewhere", "/dev/shm"]
    assert ("/toolkit", landlock.READ) in granted
    assert sys.prefix in {path for path, _ in granted}
    assert os.path.expanduser("~") not in {path for path, _ in granted}
