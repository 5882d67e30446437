"""Chain: what the next line of a segment must say, and how a torn tail is told from a lie."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.ledger.line import FIRST_PREV
from assay.ledger.line import Line
from assay.ledger.line import LineError
from assay.ledger.line import claimed_hash
from assay.ledger.line import decode_body
from assay.ledger.line import line_opening
from assay.ledger.line import parse_line
from assay.ledger.row import OPENING
from assay.spec.errors import quote

SCHEMA = "assay.ledger.1"

_SEGMENT_NAME = re.compile(r"\d{8}T\d{6}-(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]*)-[0-9a-f]{8}")


def host_of(segment: str) -> str | None:
    """The host digest in a segment's name; None when it is not a segment's name."""
    match = _SEGMENT_NAME.fullmatch(segment)
    return match["host"] if match else None


class Chain:
    """Follows one segment line by line.

    `accept` raises LineError for a bad line and moves on all the same, so that one fault does not
    hide the next.
    """

    def __init__(self, segment: str) -> None:
        self.segment = segment
        self.n = 0
        self.prev: str | None = FIRST_PREV
        self.samples_end: int | None = 0

    def accept(self, raw: bytes) -> Line:
        try:
            line = parse_line(raw)
        except LineError:
            self.n += 1
            self.prev = claimed_hash(raw)
            self.samples_end = None
            raise
        expected_n, expected_prev = self.n, self.prev
        expected_offset = self.samples_end
        self.n, self.prev = line.n + 1, line.hash
        if line.samples is not None:
            self.samples_end = line.samples.end
        if line.n != expected_n:
            raise LineError(
                f"row {line.n} stands where row {expected_n} must: "
                "rows were removed, repeated or moved"
            )
        if expected_prev is not None and line.prev != expected_prev:
            raise LineError("the row does not follow the one before it: rows were exchanged")
        if line.samples is not None and expected_offset not in (None, line.samples.offset):
            raise LineError(
                f"the row's samples begin at {line.samples.offset}, "
                f"those before it end at {expected_offset}"
            )
        self._check_opening(line)
        return line

    def check_tail(self, tail: bytes) -> None:
        """Bytes after the last newline are torn if they begin the next line; else LineError.

        A write that was cut short leaves a proper prefix of a line. A whole line whose newline
        alone is missing counts as torn: it was never acknowledged.
        """
        opening = line_opening(self.n, self.prev or "?")
        if not (tail.startswith(opening) or opening.startswith(tail)):
            raise LineError("the bytes after the last row do not begin the next one")
        if _is_closed(tail):
            self._check_unended(tail)

    def _check_unended(self, tail: bytes) -> None:
        try:
            self._check_opening(parse_line(tail + b"\n"))
        except LineError as error:
            raise LineError(f"the last line is complete but wrong: {error}") from error

    def _check_opening(self, line: Line) -> None:
        if (line.n == 0) != (line.kind == OPENING):
            raise LineError(f"row {line.n} is of kind {line.kind}; row 0 alone is the opening row")
        if line.n == 0:
            check_opening(self.segment, decode_body(line.body))


def check_opening(segment: str, body: dict[str, Any]) -> None:
    """The opening row must name its own segment, a known schema and the host in the name."""
    environment = body.get("environment")
    host = environment.get("host") if isinstance(environment, dict) else None
    if body.get("schema") != SCHEMA:
        raise LineError(f"schema {quote(body.get('schema'))} is not {SCHEMA}")
    if body.get("writer") != segment:
        raise LineError(f"the opening row says {quote(body.get('writer'))}: the file was renamed")
    if host is None or host != host_of(segment):
        raise LineError("the opening row's host is not the one in the segment's name")


def _is_closed(tail: bytes) -> bool:
    try:
        json.JSONDecoder().raw_decode(tail.decode(errors="replace"))
    except RecursionError:
        return True  # deeper than a writer goes
    except ValueError:
        return False
    return True
