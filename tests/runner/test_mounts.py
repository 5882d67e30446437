from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.runner import mounts
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import PRIVATE_FOLDERS
from assay.runner.sandbox import READ_ONLY_ROOT
from tests.runner.sandboxed import BEGINNING
from tests.runner.sandboxed import require
from tests.runner.sandboxed import said

WRITE = "attempt(lambda: open({path!r}, 'w').close())"


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of somebody else, which no private /tmp hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="assay-test-") as name:
        yield Path(name)


def test_only_what_is_needed_below_a_hidden_folder_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    for name in ("source", "other", "toolkit"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    inner = [str(tmp_path / "venv" / "lib"), str(tmp_path / "source"), str(tmp_path / "gone"), ""]
    monkeypatch.setattr(sys, "path", inner)
    # The venv's lib goes with the venv; what is not there is not mounted.
    kept = [str(tmp_path / "source"), str(tmp_path / "venv")]
    assert mounts._needed_below((str(tmp_path),)) == kept
    more = [str(tmp_path / "toolkit"), "/usr"]
    assert mounts._needed_below((str(tmp_path),), more) == [kept[0], more[0], kept[1]]
    assert mounts._needed_below(("/nowhere",)) == []


def test_the_root_is_read_only(tmp_path: Path, others: Path) -> None:
    require(READ_ONLY_ROOT)
    code = WRITE.format(path=str(others / "new"))
    read_only_file_system = ["OSError 30"]
    assert said(code, tmp_path, without=(LANDLOCK,)) == read_only_file_system
    assert list(others.iterdir()) == []
    assert said(code, tmp_path, without=(LANDLOCK, READ_ONLY_ROOT)) == ["None"]
    assert [path.name for path in others.iterdir()] == ["new"]


def test_proc_is_read_only_with_it(tmp_path: Path) -> None:
    require(READ_ONLY_ROOT, PRIVATE_FOLDERS)
    # Its own name: the one thing there that is harmless to write.
    code = WRITE.format(path="/proc/self/comm")
    assert said(code, tmp_path, without=(LANDLOCK,)) == ["OSError 30"]
    assert said(code, tmp_path, without=(LANDLOCK, READ_ONLY_ROOT)) == ["None"]


def test_where_a_driver_names_its_threads_only_their_names_can_be_written(tmp_path: Path) -> None:
    require(READ_ONLY_ROOT, PRIVATE_FOLDERS, LANDLOCK)
    name = WRITE.format(path="/proc/thread-self/comm")
    setting = WRITE.format(path="/proc/sys/vm/drop_caches")  # opened, and nothing is written
    assert said(name, tmp_path, device="cuda") == ["None"]
    assert said(setting, tmp_path, device="cuda") == ["OSError 30"]
    assert said(name, tmp_path, device="cpu") == ["OSError 30"]


def test_temporary_folders_are_private_and_writable(tmp_path: Path) -> None:
    require(PRIVATE_FOLDERS)
    with tempfile.NamedTemporaryFile(dir="/tmp", prefix="assay-test-") as theirs:
        code = (
            f"say(os.path.exists({theirs.name!r}), os.listdir('/dev/shm'))\n"
            "open('/tmp/left', 'w').close(); open('/dev/shm/left', 'w').close()\n"
            "say(os.path.exists('/tmp/left'), os.listdir('/dev/shm'))\n"
        )
        assert said(code, tmp_path) == ["False []", "True ['left']"]
        there = f"say(os.path.exists({theirs.name!r}))"
        assert said(there, tmp_path, without=(PRIVATE_FOLDERS,)) == ["True"]
    assert not Path("/tmp/left").exists()
    assert not Path("/dev/shm/left").exists()


def test_with_everybodys_temporary_folder_only_its_own_folder_is_granted(tmp_path: Path) -> None:
    require(READ_ONLY_ROOT, LANDLOCK)
    code = f"{WRITE.format(path='mine')}\n{WRITE.format(path='/tmp/assay-test-nobodys')}"
    assert said(code, tmp_path, without=(PRIVATE_FOLDERS,)) == ["None", "PermissionError 13"]
    assert (tmp_path / "mine").exists()


def test_what_the_caller_needs_below_a_private_folder_stays(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require(PRIVATE_FOLDERS, READ_ONLY_ROOT)
    toolkit = tmp_path_factory.mktemp("toolkit")
    (toolkit / "header.h").write_text("x")
    code = (
        f"attempt(lambda: open({str(toolkit / 'header.h')!r}).read())\n"
        f"attempt(lambda: open({str(toolkit / 'header.h')!r}, 'w'))"
    )
    assert said(code, tmp_path, readable=[str(toolkit)]) == ["x", "OSError 30"]
    assert said(code, tmp_path)[0] == "FileNotFoundError 2"


def test_a_kernel_without_the_call_that_does_all_at_once(others: Path) -> None:
    require(READ_ONLY_ROOT)
    code = (
        "from assay.runner import isolate, mounts\n"
        "mounts.syscalls.call = lambda *_: -1\n"
        "say(isolate.enter_namespaces(), tuple(mounts.arrange(1)))\n"
        + "\n".join(
            WRITE.format(path=str(folder))
            for folder in (others / "new", "/dev/new", "/tmp/new", "/dev/shm/new", "/dev/null")
        )
    )
    ended = subprocess.run(
        [sys.executable, "-c", BEGINNING + code], capture_output=True, text=True, check=True
    )
    assert ended.stderr.splitlines() == [
        "True (True, True)",
        *["OSError 30"] * 2,
        *["None"] * 3,
    ]
