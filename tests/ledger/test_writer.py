from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from assay.ledger import Entry
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import verify
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from tests.ledger.making import HOST
from tests.ledger.making import an_environment
from tests.ledger.making import fill
from tests.ledger.making import some_samples


def names(ledger: Ledger) -> list[str]:
    return [segment.name for segment in ledger.segments()]


def test_the_opening_row_holds_writer_schema_and_environment(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        name = writer.segment

    opening = next(ledger.rows())

    assert opening.n == 0
    assert opening.prev == "0" * 64
    assert opening.kind == "open"
    assert opening.body["writer"] == name
    assert opening.body["schema"] == "assay.ledger.1"
    assert opening.body["environment"] == an_environment().content()
    # Date and time, host, eight random hex digits.
    assert name.split("-")[1] == HOST
    assert [len(part) for part in name.split("-")] == [15, len(HOST), 8]


def test_each_row_names_the_hash_of_the_one_before_it(ledger: Ledger) -> None:
    acknowledged = fill(ledger, 4)

    rows = list(ledger.rows())

    assert [row.n for row in rows] == [0, 1, 2, 3, 4]
    assert [row.prev for row in rows[1:]] == [row.hash for row in rows[:-1]]
    assert rows[1:] == acknowledged
    assert acknowledged[0].id == acknowledged[0].hash[:12]


def test_samples_lie_one_after_the_other_beside_the_rows(ledger: Ledger) -> None:
    rows = fill(ledger, 3)

    assert rows[0].samples is not None
    assert rows[2].samples is not None
    assert rows[1].samples is None
    assert rows[0].samples.offset == 0
    assert rows[2].samples.offset == rows[0].samples.bytes
    assert ledger.samples(rows[2]) == some_samples(2)


def test_a_ledger_without_samples_has_no_samples_file(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        writer.append("note", {})

    assert [path.suffix for path in ledger.path.iterdir()] == [".jsonl"]


def test_a_writer_continues_the_segment_of_the_same_host_and_environment(ledger: Ledger) -> None:
    fill(ledger, 2)
    later = fill(ledger, 2, first=2)

    assert len(names(ledger)) == 1
    assert [row.n for row in later] == [3, 4]
    assert verify(ledger).ok


@pytest.mark.parametrize("change", [{"python": "3.12.1"}, {"host": "h999"}, {"packages": {}}])
def test_another_environment_gets_another_segment(ledger: Ledger, change: dict[str, Any]) -> None:
    fill(ledger)
    fill(ledger, **change)

    assert len(names(ledger)) == 2


def test_two_writers_at_once_get_two_segments_and_a_third_continues_the_newest(
    ledger: Ledger,
) -> None:
    with ledger.writer(an_environment()) as one, ledger.writer(an_environment()) as two:
        one.append("note", {"from": 1})
        two.append("note", {"from": 2})
        assert one.segment != two.segment
    with ledger.writer(an_environment()) as three:
        assert three.segment == max(names(ledger))
    assert len(names(ledger)) == 2


def test_a_busy_newest_segment_leaves_the_older_one_free(ledger: Ledger) -> None:
    with ledger.writer(an_environment()), ledger.writer(an_environment()):
        pass
    older, newest = sorted(names(ledger))
    with ledger.writer(an_environment()) as one, ledger.writer(an_environment()) as two:
        assert (one.segment, two.segment) == (newest, older)


def test_a_copied_segment_is_never_continued_so_that_copies_cannot_fork(
    ledger: Ledger, tmp_path: Path
) -> None:
    fill(ledger)
    copy = Ledger(tmp_path / "copy")
    shutil.copytree(ledger.path, copy.path)

    fill(copy)

    assert len(names(copy)) == 2
    assert verify(copy).ok


def test_a_segment_replaced_between_its_opening_and_its_lock_is_left_alone(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger)
    path = ledger.segments()[0].rows_path
    flock = fcntl.flock

    def replaced(fd: int, flags: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        shutil.copy(path, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)
        flock(fd, flags)

    monkeypatch.setattr(fcntl, "flock", replaced)
    fill(ledger)

    # The lock was on a file that has no name any more; rows written there would be lost.
    assert len(names(ledger)) == 2
    assert verify(ledger).rows == 8


def test_a_full_segment_is_left_for_a_new_one(ledger: Ledger) -> None:
    with ledger.writer(an_environment(), rotate_bytes=2000) as writer:
        rows = [writer.append("note", {"i": i, "pad": "x" * 500}) for i in range(6)]

    sizes = [segment.size for segment in ledger.segments()]
    assert len(sizes) == 3
    # One row may pass the limit; no second one is added to it.
    assert all(size < 2000 + 1000 for size in sizes)
    assert sorted(row.body["i"] for row in ledger.rows("note")) == [0, 1, 2, 3, 4, 5]
    assert rows[-1].n < 6
    assert verify(ledger).ok


def test_many_rows_are_written_with_one_wait_for_the_disk(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.writer(an_environment()) as writer:
        writer.append("note", {}, some_samples())
        waits: list[int] = []
        monkeypatch.setattr(os, "fsync", waits.append)
        rows = writer.append_many(Entry.of("note", {"i": i}, some_samples(i)) for i in range(50))

    assert len(waits) == 2
    assert [row.n for row in rows] == list(range(2, 52))
    assert verify(ledger).samples == 51


def test_no_rows_are_no_write(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        assert writer.append_many([]) == []


def test_samples_are_on_the_disk_before_their_row_and_the_row_before_its_acknowledgement(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    pwrite, fsync = os.pwrite, os.fsync

    def name(fd: int) -> str:
        return Path(os.readlink(f"/proc/self/fd/{fd}")).name.partition(".")[2] or "folder"

    def noted_pwrite(fd: int, data: bytes, offset: int) -> int:
        steps.append(f"write {name(fd)}")
        return pwrite(fd, data, offset)

    def noted_fsync(fd: int) -> None:
        steps.append(f"sync {name(fd)}")
        fsync(fd)

    with ledger.writer(an_environment()) as writer:
        monkeypatch.setattr(os, "pwrite", noted_pwrite)
        monkeypatch.setattr(os, "fsync", noted_fsync)
        writer.append("note", {}, some_samples())
        steps.append("acknowledged")

    assert steps == [
        "sync folder",
        "write samples.gz",
        "sync samples.gz",
        "write jsonl",
        "sync jsonl",
        "acknowledged",
    ]


def test_a_segment_has_no_name_before_its_opening_row_is_on_the_disk(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    fsync = os.fsync

    def noted_fsync(fd: int) -> None:
        if ledger.path.exists():
            seen.append([path.suffix for path in ledger.path.iterdir()])
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    with ledger.writer(an_environment()):
        pass

    # The folder's own name, then the unnamed segment, then the folder with the named one.
    assert seen == [[], [".new"], [".jsonl"]]


def test_a_writer_wants_a_with_statement(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="not open"):
        ledger.writer(an_environment()).append("note", {})


def test_the_opening_kind_is_not_for_callers(ledger: Ledger) -> None:
    with (
        ledger.writer(an_environment()) as writer,
        pytest.raises(UsageError, match="opening row"),
    ):
        writer.append("open", {})


def test_a_writer_does_not_survive_a_fork(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger.writer(an_environment()) as writer:
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(UsageError, match="fork"):
            writer.append("note", {})


def test_threads_may_share_a_writer(ledger: Ledger) -> None:
    rows: list[Row] = []
    with ledger.writer(an_environment()) as writer:

        def work() -> None:
            rows.extend(writer.append("note", {}, some_samples()) for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(row.n for row in rows) == list(range(1, 81))
    assert verify(ledger).ok


def test_a_segment_that_another_program_changed_is_not_written_on(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        path = ledger.path / f"{writer.segment}.jsonl"
        with path.open("ab") as other:
            other.write(b"{}\n")
        with pytest.raises(EvidenceError, match="another program"):
            writer.append("note", {})


def test_a_segment_that_was_removed_is_not_written_on(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        (ledger.path / f"{writer.segment}.jsonl").unlink()
        with pytest.raises(StorageError, match="removed"):
            writer.append("note", {})


def test_a_damaged_segment_is_not_continued(ledger: Ledger) -> None:
    fill(ledger)
    path = ledger.segments()[0].rows_path
    path.write_bytes(path.read_bytes().replace(b'{"i":1}', b'{"i":7}'))

    with pytest.raises(EvidenceError, match=r"jsonl:3: the bytes of this row do not give its hash"):
        fill(ledger)


def test_a_segment_whose_samples_are_gone_is_not_continued(ledger: Ledger) -> None:
    fill(ledger)
    ledger.segments()[0].samples_path.unlink()

    with pytest.raises(EvidenceError, match="gone"):
        fill(ledger)


def test_a_segment_whose_samples_were_cut_short_is_not_continued(ledger: Ledger) -> None:
    fill(ledger)
    path = ledger.segments()[0].samples_path
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(EvidenceError, match="bytes of samples"):
        fill(ledger)


def test_rows_are_json_lines_for_any_other_tool(ledger: Ledger) -> None:
    rows = fill(ledger)

    lines = ledger.segments()[0].rows_path.read_text().splitlines()

    assert [json.loads(line)["hash"] for line in lines[1:]] == [row.hash for row in rows]
