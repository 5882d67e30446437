"""A kill at any byte: the journal of all writes is cut after each, and the writer comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.ledger import Ledger
from assay.ledger import verify
from assay.spec.errors import EvidenceError
from tests.ledger.making import an_environment
from tests.ledger.making import contents
from tests.ledger.making import fill
from tests.ledger.making import restore
from tests.ledger.making import some_samples

Write = tuple[str, bytes, int]


def journal(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> list[Write]:
    """Append one row with samples and note every write by file name, bytes and offset."""
    writes: list[Write] = []
    pwrite = os.pwrite

    def noted(fd: int, data: bytes, offset: int) -> int:
        writes.append((Path(os.readlink(f"/proc/self/fd/{fd}")).name, bytes(data), offset))
        return pwrite(fd, data, offset)

    with monkeypatch.context() as patch, ledger.writer(an_environment()) as writer:
        patch.setattr(os, "pwrite", noted)
        writer.append("note", {"s": 'é}{\\"\n'}, some_samples(9))
    return writes


def states(before: dict[str, bytes], writes: list[Write]) -> Iterator[dict[str, bytes]]:
    """The folder after every single byte of the writes."""
    files = dict(before)
    for name, data, offset in writes:
        base = files.get(name, b"")
        assert offset == len(base)
        for count in range(len(data) + 1):
            yield files | {name: base + data[:count]}
        files[name] = base + data


@pytest.mark.usefixtures("quick_disk")
def test_after_a_kill_at_every_byte_the_ledger_verifies_and_goes_on(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged = fill(ledger, 3)
    before = contents(ledger.path)
    writes = journal(ledger, monkeypatch)
    whole = 0
    all_states = list(states(before, writes))
    assert len(all_states) > 400

    for files in all_states:
        restore(ledger.path, files)
        torn = verify(ledger)
        assert torn.problems == ()
        assert [row.id for row in ledger.rows("note")][:3] == [row.id for row in acknowledged]
        assert contents(ledger.path) == files  # a reader never writes

        added = fill(ledger, 1, first=8)
        repaired = verify(ledger)
        assert repaired.problems == ()
        ids = [row.id for row in ledger.rows("note")]
        assert ids[:3] == [row.id for row in acknowledged]
        assert ids[-1] == added[0].id
        whole += len(ids) == 5
        lost = sum(len(data) for data in files.values()) - sum(map(len, before.values()))
        saved = [data for name, data in contents(ledger.path).items() if ".torn-" in name]
        # What is cut off is set aside: nothing that was on the disk is gone.
        assert len(ids) == 5 or sum(map(len, saved)) == lost

    # Only the last byte, the newline, makes the row whole.
    assert whole == 1


@pytest.mark.usefixtures("quick_disk")
def test_a_torn_tail_is_a_remark_that_names_its_bytes(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 3)
    before = contents(ledger.path)
    writes = journal(ledger, monkeypatch)
    segment = ledger.segments()[0]
    files = list(states(before, writes))[-2]
    restore(ledger.path, files)

    (remark, unreferenced) = verify(ledger).remarks

    rows, samples = segment.rows_path.name, segment.samples_path.name
    assert (remark.file, remark.line) == (rows, 5)
    assert (remark.start, remark.end) == (len(before[rows]), len(files[rows]))
    assert (unreferenced.file, unreferenced.start) == (samples, len(before[samples]))
    assert ledger.segments()[0].remark is not None


def test_the_cut_tail_is_kept_byte_for_byte_under_a_number(ledger: Ledger) -> None:
    fill(ledger, 1)
    segment = ledger.segments()[0]
    tails = [b'{"n":2,"prev"', b'{"n":3']
    for tail in tails:
        with segment.rows_path.open("ab") as handle:
            handle.write(tail)
        with segment.samples_path.open("ab") as handle:
            handle.write(b"\x1f\x8b")
        fill(ledger, 1)

    saved = {name: data for name, data in contents(ledger.path).items() if "torn" in name}
    assert saved == {
        f"{segment.name}.torn-1": tails[0],
        f"{segment.name}.torn-2": tails[1],
        f"{segment.name}.samples.torn-1": b"\x1f\x8b",
        f"{segment.name}.samples.torn-2": b"\x1f\x8b",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[:-1] + b"X",
        lambda raw: raw[:-1] + b" ",
        lambda raw: raw[:-1] + b"\r",
        lambda raw: raw[:-1] + b"}",
        lambda raw: raw[:-1].replace(b'{"i":2}', b'{"i":3}'),
        lambda raw: raw + b"X",
        lambda raw: raw + b"\0" * 100,
        lambda raw: raw + b'{"n":3,"prev"',
        lambda raw: raw + b'{"n":4,"prev":"00',
        lambda raw: raw + b"\n",
        lambda raw: raw + b"{}",
    ],
)
def test_a_tail_that_no_cut_write_leaves_is_not_repaired_but_refused(
    ledger: Ledger, change: object
) -> None:
    assert callable(change)
    fill(ledger, 3)
    path = ledger.segments()[0].rows_path
    changed = change(path.read_bytes())
    path.write_bytes(changed)

    assert len(verify(ledger).problems) == 1
    with pytest.raises(EvidenceError):
        list(ledger.rows())
    with pytest.raises(EvidenceError):
        fill(ledger)
    assert path.read_bytes() == changed
