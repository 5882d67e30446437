from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from assay.ledger import Ledger
from assay.ledger import merge
from assay.ledger import verify
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from tests.ledger.making import an_environment
from tests.ledger.making import contents
from tests.ledger.making import fill


@pytest.fixture
def one(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "one")
    fill(ledger, 3, host="h1")
    return ledger


@pytest.fixture
def two(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "two")
    fill(ledger, 2, host="h2")
    return ledger


@pytest.fixture
def destination(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "destination")


def test_the_ledgers_of_two_hosts_become_one(one: Ledger, two: Ledger, destination: Ledger) -> None:
    report = merge([one, two], destination)

    assert contents(destination.path) == contents(one.path) | contents(two.path)
    assert len(report.copied) == 2
    assert (report.extended, report.kept) == ((), ())
    assert verify(destination).rows == 7


def test_merging_again_changes_nothing(one: Ledger, two: Ledger, destination: Ledger) -> None:
    merge([one, two], destination)
    before = contents(destination.path)

    report = merge([one, two, destination], destination)

    assert contents(destination.path) == before
    assert (report.copied, report.extended, len(report.kept)) == ((), (), 2)


def test_a_copy_is_extended_by_the_longer_original_and_not_shortened(
    one: Ledger, destination: Ledger, tmp_path: Path
) -> None:
    merge([one], destination)
    old = Ledger(tmp_path / "old")
    shutil.copytree(one.path, old.path)
    fill(one, 4, host="h1")

    report = merge([old, one, old], destination)

    assert contents(destination.path) == contents(one.path)
    assert report.extended == (one.segments()[0].name,)
    assert merge([old], destination).kept == report.extended
    assert contents(destination.path) == contents(one.path)


def forked(source: Ledger, copy: Ledger) -> str:
    """Two continuations of one segment, made by hand; rows 0 to 3 are common."""
    shutil.copytree(source.path, copy.path)
    segment = copy.segments()[0]
    original = contents(source.path)
    fill(source, 1, first=5, host="h1")
    mine = contents(source.path)
    for name, data in original.items():
        (source.path / name).write_bytes(data)
    fill(source, 1, first=7, host="h1")
    for name, data in mine.items():
        (copy.path / name).write_bytes(data)
    assert verify(source).ok
    assert verify(copy).ok
    return segment.name


def test_a_fork_is_refused_and_names_segment_and_row(
    one: Ledger, two: Ledger, destination: Ledger, tmp_path: Path
) -> None:
    copy = Ledger(tmp_path / "copy")
    name = forked(one, copy)

    # Found between two sources, before anything is written.
    with pytest.raises(EvidenceError, match=rf"fork: segment {name} differs from row 4 on"):
        merge([two, one, copy], destination)
    assert not destination.path.exists()

    merge([one], destination)
    before = contents(destination.path)
    with pytest.raises(EvidenceError, match="fork"):
        merge([two, copy], destination)
    assert contents(destination.path) == before


def test_a_damaged_source_is_refused_before_anything_is_copied(
    one: Ledger, two: Ledger, destination: Ledger
) -> None:
    path = two.segments()[0].samples_path
    path.write_bytes(b"x" + path.read_bytes()[1:])

    with pytest.raises(EvidenceError, match="1 problems, the first"):
        merge([one, two], destination)
    assert not destination.path.exists()


def test_a_damaged_destination_is_refused(one: Ledger, two: Ledger) -> None:
    path = two.segments()[0].rows_path
    path.write_bytes(path.read_bytes()[:-1] + b" ")

    with pytest.raises(EvidenceError):
        merge([one], two)


def test_a_torn_tail_stays_where_it_was_torn(one: Ledger, destination: Ledger) -> None:
    whole = contents(one.path)
    segment = one.segments()[0]
    with segment.rows_path.open("ab") as rows, segment.samples_path.open("ab") as samples:
        rows.write(b'{"n":4')
        samples.write(b"\x1f\x8b")

    merge([one], destination)

    assert contents(destination.path) == whole
    # The original cuts its tail and goes on: the copy is still its beginning.
    fill(one, 1, host="h1")
    assert merge([one], destination).extended == (segment.name,)
    assert verify(destination).ok


def test_samples_come_before_rows_and_each_is_on_the_disk_before_it_gets_its_name(
    one: Ledger, destination: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(fd: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        steps.append("sync folder" if path.is_dir() else "sync file")
        fsync(fd)

    def noted_replace(source: Path, target: Path) -> None:
        steps.append(f"name {target.suffix}")
        replace(source, target)

    destination.path.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    merge([one], destination)

    assert steps == [
        "sync file",
        "name .gz",
        "sync folder",
        "sync file",
        "name .jsonl",
        "sync folder",
    ]


@pytest.mark.parametrize("refused", [1, 2])
def test_a_full_disk_never_leaves_half_a_segment(
    one: Ledger, destination: Ledger, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    merge([one], destination)
    fill(one, 2, host="h1")
    calls = 0
    replace = os.replace

    def sometimes(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", sometimes)
        with pytest.raises(StorageError, match="cannot merge into the ledger: No space"):
            merge([one], destination)
    report = verify(destination)
    assert (report.rows, report.problems) == (4, ())
    assert not [path for path in destination.path.iterdir() if path.name.endswith(".new")]

    merge([one], destination)
    assert contents(destination.path) == contents(one.path)


def test_a_segment_that_is_being_written_is_not_replaced(
    one: Ledger, destination: Ledger, tmp_path: Path
) -> None:
    longer = Ledger(tmp_path / "longer")
    name = one.segments()[0].name
    early = contents(one.path)
    fill(one, 2, host="h1")
    shutil.copytree(one.path, longer.path)
    for file, data in early.items():
        (one.path / file).write_bytes(data)

    with one.writer(an_environment(host="h1")) as writer:
        assert writer.segment == name
        with pytest.raises(StorageError, match="a writer has this segment open"):
            merge([longer], one)


def test_a_source_that_is_not_there_is_refused(one: Ledger, destination: Ledger) -> None:
    with pytest.raises(UsageError, match="no ledger here"):
        merge([one, Ledger("nowhere")], destination)
    assert not destination.path.exists()
