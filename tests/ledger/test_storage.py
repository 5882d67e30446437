"""What the file system refuses: full, read-only, failing. Refusals are injected, and also real
where this host lets a test mount a file system of its own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.ledger import Ledger
from assay.ledger import verify
from assay.spec.errors import StorageError
from tests.ledger.making import an_environment
from tests.ledger.making import contents
from tests.ledger.making import some_samples

ROOT = Path(__file__).parents[2]
REFUSALS = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES]


def refuse_after(count: int, code: int) -> Callable[[int, bytes, int], int]:
    """Take `count` more bytes in all, then refuse as the system does."""
    left = count
    pwrite = os.pwrite

    def limited(fd: int, data: bytes, offset: int) -> int:
        nonlocal left
        if left == 0:
            raise OSError(code, os.strerror(code))
        written = pwrite(fd, data[:left], offset)
        left -= written
        return written

    return limited


@pytest.mark.usefixtures("quick_disk")
def test_a_refusal_at_every_byte_rolls_back_and_a_later_append_works(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.writer(an_environment()) as writer:
        kept = [writer.append("note", {"i": 0}, some_samples())]
        before = contents(ledger.path)
        for count in range(500):
            with monkeypatch.context() as patch:
                patch.setattr(os, "pwrite", refuse_after(count, errno.ENOSPC))
                try:
                    kept.append(writer.append("note", {"i": 1}, some_samples()))
                except StorageError:
                    assert contents(ledger.path) == before
                else:
                    break
        kept.append(writer.append("note", {"i": 2}, some_samples()))

    assert count > 350
    report = verify(ledger)
    assert (report.problems, report.remarks) == ((), ())
    assert [row.id for row in ledger.rows("note")] == [row.id for row in kept]


@pytest.mark.parametrize("code", REFUSALS)
@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_each_refusal_is_one_line_of_what_where_and_what_to_do(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    def refuse(*arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    with ledger.writer(an_environment()) as writer:
        before = contents(ledger.path)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(StorageError) as caught:
                writer.append("note", {})
        assert contents(ledger.path) == before
        writer.append("note", {})

    line = str(caught.value)
    assert caught.value.exit_status == 74
    assert "\n" not in line
    assert f"cannot append to the ledger: {os.strerror(code)} (" in line
    assert verify(ledger).rows == 2


def test_a_rollback_that_is_refused_too_is_made_up_for_by_the_next_append(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with ledger.writer(an_environment()) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", refuse_after(100, errno.ENOSPC))
            patch.setattr(os, "ftruncate", refuse)
            with pytest.raises(StorageError):
                writer.append("note", {})
        assert ledger.segments()[0].torn == 100
        writer.append("note", {})

    report = verify(ledger)
    assert (report.rows, report.problems, report.remarks) == (2, (), ())


def test_an_interrupted_append_is_rolled_back_as_well(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    with ledger.writer(an_environment()) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupt)
            with pytest.raises(KeyboardInterrupt):
                writer.append("note", {"i": 0}, some_samples())
        writer.append("note", {"i": 1}, some_samples())

    assert [row.body["i"] for row in ledger.rows("note")] == [1]
    assert verify(ledger).ok


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_refuses_a_new_segment_is_one_clear_line(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    opened = os.open

    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(StorageError, match=os.strerror(code)),
        ledger.writer(an_environment()),
    ):
        pass


def test_a_refused_opening_row_leaves_nothing_behind(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse_after(50, errno.ENOSPC))
        with pytest.raises(StorageError), ledger.writer(an_environment()):
            pass

    assert contents(ledger.path) == {}


def test_a_file_where_the_folder_should_be_is_one_clear_line(ledger: Ledger) -> None:
    ledger.path.write_text("")

    with pytest.raises(StorageError, match="cannot open"), ledger.writer(an_environment()):
        pass


FULL = """
import sys
from assay.ledger import Ledger, verify
from assay.spec.errors import StorageError
from tests.ledger.making import an_environment, some_samples
ledger, acknowledged, refused = Ledger(sys.argv[1]), [], ""
with ledger.writer(an_environment()) as writer:
    while not refused:
        try:
            acknowledged.append(writer.append("note", {"pad": "x" * 1000}, some_samples()).id)
        except StorageError as error:
            refused = str(error)
    {after}
report = verify(ledger)
assert (report.problems, report.remarks) == ((), ()), report
assert [row.id for row in ledger.rows("note")] == acknowledged
print(len(acknowledged), refused)
"""


def run(script: str, *prefix: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-c", script, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_file_size_limit_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, -1))\n"

    done = run(limit + FULL.replace("{after}", "pass"), folder=tmp_path / "ledger")

    assert done.returncode == 0, done.stderr
    count, refused = done.stdout.split(" ", 1)
    assert 20 < int(count) < 50
    assert "File too large (free some space" in refused


def may_mount(folder: Path) -> bool:
    command = f"mount -t tmpfs -o size=64k tmpfs '{folder}'"
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, check=False)
    return done.returncode == 0


def test_a_really_full_disk_loses_nothing_and_goes_on_when_there_is_space(tmp_path: Path) -> None:
    if not may_mount(tmp_path):
        pytest.skip("this host lets no test mount a tmpfs; the injected ENOSPC runs everywhere")
    after = (
        "import os; os.system('mount -o remount,size=1m ' + repr(sys.argv[1])); "
        "acknowledged.append(writer.append('note', {}, some_samples()).id)"
    )
    shell = f"mount -t tmpfs -o size=64k tmpfs '{tmp_path}' && exec \"$@\""

    done = run(
        FULL.replace("{after}", after), "unshare", "-m", "sh", "-c", shell, "sh", folder=tmp_path
    )

    assert done.returncode == 0, done.stderr
    count, refused = done.stdout.split(" ", 1)
    assert 10 < int(count) < 64
    assert "No space left on device (free some space" in refused


def test_a_really_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    if not may_mount(tmp_path):
        pytest.skip("this host lets no test mount a tmpfs; the injected EROFS runs everywhere")
    script = """
import sys
from assay.ledger import Ledger
from assay.spec.errors import StorageError
from tests.ledger.making import an_environment
try:
    Ledger(sys.argv[1]).writer(an_environment()).__enter__()
except StorageError as error:
    print(error)
"""
    shell = f"mount -t tmpfs -o ro tmpfs '{tmp_path}' && exec \"$@\""

    done = run(script, "unshare", "-m", "sh", "-c", shell, "sh", folder=tmp_path)

    assert "cannot open the ledger for writing: Read-only file system (name a" in done.stdout
