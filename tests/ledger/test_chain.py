"""Rows whose own hash is right and that still must not stand where they do."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from assay.ledger import Ledger
from assay.ledger import verify
from assay.ledger.chain import Chain
from assay.ledger.chain import host_of
from assay.ledger.line import FIRST_PREV
from assay.ledger.line import LineError
from assay.ledger.line import Span
from assay.ledger.line import format_line
from assay.ledger.line import line_opening
from tests.ledger.making import fill

SEGMENT = "20261115T014500-h1-9f2c4a1b"
TIME = "2026-11-15T01:45:00.000001Z"


def opening(**changes: Any) -> tuple[bytes, str]:
    body = {"writer": SEGMENT, "schema": "assay.ledger.1", "environment": {"host": "h1"}}
    return format_line(0, FIRST_PREV, TIME, "open", body | changes, None)


def opened() -> tuple[Chain, str]:
    chain = Chain(SEGMENT)
    line, digest = opening()
    chain.accept(line)
    return chain, digest


def test_a_segments_name_holds_its_host() -> None:
    assert host_of(SEGMENT) == "h1"
    assert host_of("20261115T014500-a-b.c_d-9f2c4a1b") == "a-b.c_d"
    for name in ("", "notes", "20261115T014500-9f2c4a1b", SEGMENT + "0", SEGMENT + "\n"):
        assert host_of(name) is None


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": "assay.ledger.2"}, r"schema assay\.ledger\.2 is not assay\.ledger\.1"),
        ({"writer": "another"}, "the opening row says another: the file was renamed"),
        ({"environment": {"host": "h2"}}, "host is not the one in the segment's name"),
        ({"environment": None}, "host is not the one"),
    ],
)
def test_an_opening_row_must_fit_its_segment(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(LineError, match=complaint):
        Chain(SEGMENT).accept(opening(**changes)[0])


def test_the_first_row_and_no_other_is_an_opening_row() -> None:
    with pytest.raises(LineError, match="row 0 is of kind note"):
        Chain(SEGMENT).accept(format_line(0, FIRST_PREV, TIME, "note", {}, None)[0])
    chain, prev = opened()
    with pytest.raises(LineError, match="row 1 is of kind open"):
        chain.accept(format_line(1, prev, TIME, "open", {}, None)[0])


@pytest.mark.parametrize("offset", [9, 11])
def test_samples_must_neither_overlap_nor_leave_a_gap(offset: int) -> None:
    chain, prev = opened()
    line, prev = format_line(1, prev, TIME, "note", {}, Span(0, 10, "a" * 64))
    chain.accept(line)

    with pytest.raises(LineError, match=f"samples begin at {offset}, those before it end at 10"):
        chain.accept(format_line(2, prev, TIME, "note", {}, Span(offset, 5, "b" * 64))[0])


def test_a_tail_deeper_than_any_writer_goes_is_not_torn() -> None:
    chain, prev = opened()
    tail = line_opening(1, prev) + b'","x":' + b"[" * 100_000

    with pytest.raises(LineError, match="complete but wrong"):
        chain.check_tail(tail)


def test_a_body_that_readers_would_read_differently_is_found(ledger: Ledger) -> None:
    fill(ledger, 1)
    path = ledger.segments()[0].rows_path
    first, second = path.read_bytes().splitlines(keepends=True)
    hashed = second[:-76].replace(b'{"i":0}', b'{"i":0,"i":1}')
    digest = hashlib.sha256(hashed).hexdigest().encode()
    path.write_bytes(first + hashed + b',"hash":"' + digest + b'"}\n')

    (problem,) = verify(ledger).problems

    assert problem.line == 2
    assert "a key stands twice in one object" in problem.what
