from __future__ import annotations

import pytest

from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import Samples
from assay.ledger import verify
from assay.spec.errors import UsageError
from tests.ledger.making import contents
from tests.ledger.making import fill


def test_a_sound_ledger_is_counted(ledger: Ledger) -> None:
    fill(ledger, 3)
    fill(ledger, 2, host="h999")

    report = verify(ledger)

    assert report.ok
    assert (report.segments, report.rows, report.samples) == (2, 7, 3)
    assert (report.recomputed, report.remarks, report.problems) == (0, (), ())


def test_verifying_writes_nothing(ledger: Ledger) -> None:
    fill(ledger)
    before = contents(ledger.path)

    verify(ledger)

    assert contents(ledger.path) == before


def test_every_row_with_samples_is_worked_out_again(ledger: Ledger) -> None:
    rows = fill(ledger, 4)
    seen: list[tuple[Row, Samples]] = []

    def note(row: Row, samples: Samples) -> None:
        seen.append((row, samples))

    report = verify(ledger, recompute=note)

    assert report.ok
    assert report.recomputed == 2
    assert seen == [(row, ledger.samples(row)) for row in (rows[0], rows[2])]


def test_a_verdict_that_its_samples_do_not_give_is_a_problem(ledger: Ledger) -> None:
    rows = fill(ledger, 3)

    def disagree(row: Row, samples: Samples) -> str | None:
        return "verdict says FASTER, samples give SAME" if row.body["i"] == 2 else None

    (problem,) = verify(ledger, recompute=disagree).problems

    assert problem.line == 4
    assert problem.what == f"row {rows[2].id}: verdict says FASTER, samples give SAME"


def test_damaged_samples_are_not_handed_to_the_recomputation(ledger: Ledger) -> None:
    fill(ledger, 1)
    path = ledger.segments()[0].samples_path
    path.write_bytes(b"x" + path.read_bytes()[1:])

    def never(row: Row, samples: Samples) -> str | None:
        raise AssertionError

    report = verify(ledger, recompute=never)

    assert report.recomputed == 0
    assert [problem.file for problem in report.problems] == [path.name]


def test_files_that_no_segment_explains_are_remarks(ledger: Ledger) -> None:
    fill(ledger)
    name = ledger.segments()[0].name
    (ledger.path / "README\n.md").write_text("")
    (ledger.path / f"{name}.torn-1").write_text("")

    assert {remark.file: remark.what for remark in verify(ledger).remarks} == {
        "README\\n.md": "not part of the ledger",
        f"{name}.torn-1": "a torn tail that a writer set aside",
    }


def test_a_finding_reads_as_one_line(ledger: Ledger) -> None:
    fill(ledger)
    path = ledger.segments()[0].rows_path
    data = path.read_bytes()
    start = data.index(b"\n") + 1
    end = data.index(b"\n", start) + 1
    path.write_bytes(data.replace(b'"i":0', b'"i":4'))

    assert str(verify(ledger).problems[0]) == (
        f"{path.name}:2 bytes {start} to {end - 1}: "
        "the bytes of this row do not give its hash: it was changed"
    )


def test_nothing_is_not_verified(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="no ledger here"):
        verify(ledger)


def test_samples_whose_rows_are_gone_are_a_problem_not_an_empty_folder(ledger: Ledger) -> None:
    fill(ledger)
    ledger.segments()[0].rows_path.unlink()

    assert "a segment is missing" in verify(ledger).problems[0].what
