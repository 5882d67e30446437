from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from assay.ledger import Finding
from assay.ledger import Ledger
from assay.ledger import VerifyReport
from assay.ledger import verify
from tests.ledger.making import fill
from tests.ledger.making import overwrite


@pytest.fixture
def whole(ledger: Ledger) -> Ledger:
    fill(ledger, 3)
    report = verify(ledger)
    assert (report.problems, report.remarks) == ((), ())
    return ledger


def files(ledger: Ledger) -> list[Path]:
    segment = ledger.segments()[0]
    return [segment.rows_path, segment.samples_path]


def named(report: VerifyReport, path: Path, position: int) -> list[Finding]:
    """Findings that name the file and a range that holds the byte or touches it."""
    found = [*report.problems, *report.remarks]
    return [f for f in found if f.file == path.name and f.start - 1 <= position <= f.end]


def test_every_changed_byte_is_a_problem_that_names_its_place(whole: Ledger) -> None:
    chance = random.Random(0)
    for path in files(whole):
        data = path.read_bytes()
        for position, byte in enumerate(data):
            for value in {byte ^ 1, byte ^ 0x20, chance.randrange(256)} - {byte}:
                overwrite(path, data[:position] + bytes([value]) + data[position + 1 :])
                report = verify(whole)
                assert report.problems, (path.name, position, value)
                assert named(report, path, position), (path.name, position, value)
        overwrite(path, data)


def test_every_deleted_byte_is_named(whole: Ledger) -> None:
    for path in files(whole):
        data = path.read_bytes()
        for position in range(len(data)):
            overwrite(path, data[:position] + data[position + 1 :])
            report = verify(whole)
            assert named(report, path, position), (path.name, position)
            # A row without its last newline is what a kill leaves: a remark, not a problem.
            is_last_newline = path.suffix == ".jsonl" and position == len(data) - 1
            assert bool(report.problems) != is_last_newline, (path.name, position)
        overwrite(path, data)


def test_every_inserted_byte_is_named(whole: Ledger) -> None:
    for path in files(whole):
        data = path.read_bytes()
        for position in range(len(data) + 1):
            value = (b"0", b"\n", b"}", b" ")[position % 4]
            overwrite(path, data[:position] + value + data[position:])
            report = verify(whole)
            assert named(report, path, position), (path.name, position, value)
            # Bytes after the last referenced member are no evidence, so they are a remark.
            is_samples_tail = path.suffix == ".gz" and position == len(data)
            assert bool(report.problems) != is_samples_tail, (path.name, position, value)
        overwrite(path, data)


def lines_of(ledger: Ledger) -> tuple[Path, list[bytes]]:
    path = ledger.segments()[0].rows_path
    return path, path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_dropped_line_is_found_where_the_next_one_stands(whole: Ledger, index: int) -> None:
    path, lines = lines_of(whole)
    path.write_bytes(b"".join(lines[:index] + lines[index + 1 :]))

    problem = verify(whole).problems[0]

    assert problem.line == index + 1
    assert f"row {index + 1} stands where row {index} must" in problem.what


@pytest.mark.parametrize("index", [0, 1, 2])
def test_exchanged_lines_are_found(whole: Ledger, index: int) -> None:
    path, lines = lines_of(whole)
    lines[index], lines[index + 1] = lines[index + 1], lines[index]
    path.write_bytes(b"".join(lines))

    assert [problem.line for problem in verify(whole).problems][:2] == [index + 1, index + 2]


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_a_repeated_line_is_found(whole: Ledger, index: int) -> None:
    path, lines = lines_of(whole)
    path.write_bytes(b"".join(lines[: index + 1] + lines[index:]))

    assert verify(whole).problems[0].line == index + 2


def test_a_row_of_the_same_number_from_another_segment_is_found(
    whole: Ledger, tmp_path: Path
) -> None:
    other = Ledger(tmp_path / "other")
    fill(other, 3)
    path, lines = lines_of(whole)
    lines[2] = lines_of(other)[1][2]
    path.write_bytes(b"".join(lines))

    problem = verify(whole).problems[0]

    assert problem.line == 3
    assert "does not follow the one before it" in problem.what


def test_a_renamed_segment_is_found(whole: Ledger) -> None:
    segment = whole.segments()[0]
    new = segment.name[:-1] + ("0" if segment.name[-1] != "0" else "1")
    segment.rows_path.rename(whole.path / f"{new}.jsonl")
    segment.samples_path.rename(whole.path / f"{new}.samples.gz")

    (problem,) = verify(whole).problems

    assert (problem.file, problem.line) == (f"{new}.jsonl", 1)
    assert "the file was renamed" in problem.what


def test_a_name_that_is_no_segments_name_is_found(whole: Ledger) -> None:
    segment = whole.segments()[0]
    segment.rows_path.rename(whole.path / "evidence.jsonl")

    what = {problem.file: problem.what for problem in verify(whole).problems}

    assert "not the name of a segment" in what["evidence.jsonl"]
    assert "a segment is missing" in what[segment.samples_path.name]


def test_a_segment_cut_to_nothing_is_found(whole: Ledger) -> None:
    whole.segments()[0].rows_path.write_bytes(b"")

    assert "no opening row" in verify(whole).problems[0].what


def test_a_segment_cut_inside_its_opening_row_is_found(whole: Ledger) -> None:
    path, lines = lines_of(whole)
    path.write_bytes(lines[0][:-5])

    assert "the opening row is not whole" in verify(whole).problems[0].what


def test_samples_that_are_gone_are_found(whole: Ledger) -> None:
    whole.segments()[0].samples_path.unlink()

    report = verify(whole)

    assert len(report.problems) == 2
    assert "are not all here: 0 of" in report.problems[0].what


def test_what_a_chain_cannot_show_the_last_whole_rows_removed(whole: Ledger) -> None:
    # Stated in docs/ledger.md: a chain proves order, not honesty.
    path, lines = lines_of(whole)
    path.write_bytes(b"".join(lines[:2]))

    report = verify(whole)

    assert report.ok
    # The orphaned samples give it away here; without samples nothing would.
    assert len(report.remarks) == 1


def test_one_fault_does_not_hide_another(whole: Ledger, tmp_path: Path) -> None:
    fill(whole, 4, first=3)
    path, lines = lines_of(whole)
    for index in (2, 5):
        lines[index] = lines[index].replace(b'"i":', b'"j":')
    path.write_bytes(b"".join(lines))

    assert [problem.line for problem in verify(whole).problems] == [3, 6]
    shutil.rmtree(whole.path)
