from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import pytest

from assay.judge.confined import run_confined
from assay.runner.confine import NOT_STARTED
from assay.runner.confine import OUT_OF_TIME
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import PARTS
from tests.runner.sandboxed import BEGINNING
from tests.runner.sandboxed import granted
from tests.runner.sandboxed import said

# A child in a session of its own, whose parent is gone: no group and no parent leads to it.
ESCAPING = """
import time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    open('left', 'w').close()
    for _ in range(600):
        time.sleep(0.05)
        os.utime('left')
while not os.path.exists('left'):
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 86", 86), ("sh -c 'kill -9 $$'; exit $?", 137)]
)
def test_a_command_gives_its_own_status(tmp_path: Path, script: str, status: int) -> None:
    ended = run_confined(["sh", "-c", f"echo word >&2; {script}"], tmp_path, 60)
    assert ended.status == status
    assert ended.errors.startswith("word\n")


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    ended = run_confined(["no-such-compiler"], tmp_path, 60)
    assert ended.status == NOT_STARTED
    assert ended.held == granted()


def test_a_sandbox_that_does_not_start_holds_nothing(tmp_path: Path) -> None:
    ended = run_confined(["true"], tmp_path / "gone", 60)
    assert ended.status != 0
    assert ended.held == dict.fromkeys(PARTS, False)


def test_it_starts_in_its_folder_with_few_variables(tmp_path: Path) -> None:
    lines = said("say(os.getcwd(), sorted(os.environ))", tmp_path)
    names = {"HOME", "LC_ALL", "PATH", "TMPDIR"}
    assert lines[0].split()[0] == str(tmp_path)
    assert set(ast.literal_eval(lines[0].split(maxsplit=1)[1])) - {"LC_CTYPE"} == names
    assert said("say(os.listdir('/proc/self/fd'))", tmp_path) == ["['0', '1', '2', '3']"]


def test_a_module_of_the_same_name_in_the_folder_is_not_imported(tmp_path: Path) -> None:
    # Before there is a sandbox, modules of ours are imported; a solution's sources lie here.
    for name in ("json", "ctypes", "assay"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)")
    assert run_confined(["true"], tmp_path, 60).status == 0


@pytest.mark.parametrize("without", [(), (NAMESPACES,)])
@pytest.mark.parametrize(
    ("afterwards", "seconds", "status"), [("", 60.0, 0), ("time.sleep(30)", 2.0, OUT_OF_TIME)]
)
def test_nothing_that_it_started_is_left(
    tmp_path: Path, without: tuple[str, ...], afterwards: str, seconds: float, status: int
) -> None:
    command = [sys.executable, "-S", "-c", BEGINNING + ESCAPING + afterwards]
    ended = run_confined(command, tmp_path, seconds, without=without)
    assert ended.status == status
    # Alive, it would touch its file every 50 ms.
    last = (tmp_path / "left").stat().st_mtime_ns
    time.sleep(0.3)
    assert (tmp_path / "left").stat().st_mtime_ns == last


def test_a_file_has_a_largest_size(tmp_path: Path) -> None:
    # A hole: nothing is written.
    code = (
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "open('f', 'w').close()\n"
        "attempt(lambda: os.truncate('f', 1 << 20))\nattempt(lambda: os.truncate('f', 2 << 30))"
    )
    assert said(code, tmp_path) == ["None", "OSError 27"]
