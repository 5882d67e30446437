from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.ledger import Ledger
from assay.ledger import default_path
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from tests.ledger.making import an_environment
from tests.ledger.making import contents
from tests.ledger.making import fill
from tests.ledger.making import some_samples


def test_rows_can_be_had_by_kind(ledger: Ledger) -> None:
    fill(ledger, 3)

    assert [row.kind for row in ledger.rows()] == ["open", "note", "note", "note"]
    assert [row.body["i"] for row in ledger.rows("note")] == [0, 1, 2]
    assert list(ledger.rows("other")) == []


def test_a_row_is_found_by_any_prefix_that_is_its_own(ledger: Ledger) -> None:
    rows = fill(ledger, 3)

    assert ledger.find(rows[1].hash) == rows[1]
    assert ledger.find(rows[1].id) == rows[1]


def test_a_prefix_of_two_rows_is_refused_and_names_them(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = fill(ledger, 30)
    monkeypatch.setattr("assay.ledger.ledger._SHORTEST_PREFIX", 1)
    first = {row.hash[0] for row in rows}
    digit = next(d for d in first if sum(row.hash.startswith(d) for row in rows) > 1)

    with pytest.raises(UsageError, match=rf"{digit} begins \d+ rows \(say which: {digit}"):
        ledger.find(digit)


@pytest.mark.parametrize("prefix", ["", "abc", "xyz1", "ABCD", "0" * 65, "abcd\n"])
def test_what_is_no_id_is_refused(ledger: Ledger, prefix: str) -> None:
    fill(ledger)

    with pytest.raises(UsageError, match="is no row id"):
        ledger.find(prefix)


def test_an_id_that_is_not_there_is_refused(ledger: Ledger) -> None:
    fill(ledger)

    with pytest.raises(UsageError, match="no row 0000000000000000"):
        ledger.find("0" * 16)


def test_samples_are_checked_against_their_row(ledger: Ledger) -> None:
    row = fill(ledger, 1)[0]
    assert ledger.samples(row) == some_samples(0)
    path = ledger.segments()[0].samples_path
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)

    with pytest.raises(EvidenceError, match="not the bytes that were written"):
        ledger.samples(row)
    path.unlink()
    with pytest.raises(EvidenceError, match="gone"):
        ledger.samples(row)


def test_a_row_without_samples_says_so(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="has no samples"):
        ledger.samples(fill(ledger, 2)[1])


def test_a_damaged_row_stops_a_reader(ledger: Ledger) -> None:
    fill(ledger)
    path = ledger.segments()[0].rows_path
    path.write_bytes(path.read_bytes().replace(b'{"i":0}', b'{"i":5}'))

    with pytest.raises(EvidenceError, match=r"jsonl:2: .*\(run assay ledger verify"):
        list(ledger.rows())


def test_a_reader_passes_over_a_torn_tail_says_so_and_writes_nothing(ledger: Ledger) -> None:
    rows = fill(ledger, 2)
    path = ledger.segments()[0].rows_path
    size = path.stat().st_size
    with path.open("ab") as handle:
        handle.write(b'{"n":3,"pre')
    before = contents(ledger.path)

    assert list(ledger.rows("note")) == rows
    segment = ledger.segments()[0]
    assert (segment.size, segment.torn) == (size, 11)
    assert str(segment.remark).startswith(f"{path.name} bytes {size} to {size + 10}: torn tail")
    assert contents(ledger.path) == before


def test_a_reader_sees_whole_rows_while_a_writer_is_at_work(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        row = writer.append("note", {"i": 1})
        rows = ledger.rows("note")
        assert next(rows) == row
        writer.append("note", {"i": 2})
        # A segment is read as it stood when the reader came to it.
        assert list(rows) == []
        assert [row.body["i"] for row in ledger.rows("note")] == [1, 2]


def test_a_path_that_is_no_ledger_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no ledger here"):
        Ledger(tmp_path / "nowhere").segments()
    with pytest.raises(UsageError, match="holds no ledger segments"):
        Ledger(tmp_path).segments()


def test_the_ledger_is_in_assay_home_or_beside_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", os.fspath(Path("/some/where")))
    assert default_path() == Path("/some/where/ledger")
    monkeypatch.setenv("ASSAY_HOME", "")
    assert default_path() == Path(".assay/ledger")
    monkeypatch.delenv("ASSAY_HOME")
    assert default_path() == Path(".assay/ledger")
