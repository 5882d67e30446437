"""Query: SQL over ledgers, in place, with DuckDB."""

from __future__ import annotations

import datetime
import importlib
import math
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from assay.ledger.ledger import Ledger
from assay.ledger.line import LONGEST_LINE
from assay.ledger.row import ID_DIGITS
from assay.ledger.segment import Segment
from assay.ledger.segment import longer
from assay.spec.errors import EvidenceError
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Noun

VERDICT = "row-verdict"

_MOST_LINES = 1 << 16

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
_COLUMNS = "{n: 'BIGINT', time: 'TIMESTAMP', kind: 'VARCHAR', body: 'JSON', hash: 'VARCHAR'}"
_ROWS = f"""
CREATE VIEW rows AS
SELECT ledger, segment, n, time, kind, hash[:{ID_DIGITS}] AS id, hash, body
FROM (SELECT * FROM read_json(%s, format = 'newline_delimited', columns = {_COLUMNS},
      filename = true, ignore_errors = true))
JOIN segment_files ON file = filename
WHERE n < whole
"""
_VERDICTS = f"""
CREATE VIEW verdicts AS
SELECT id, time, v.task, v.row, v.lane, v.status, v.ratio, v.interval[1] AS low,
       v.interval[2] AS high, v.baseline_us, v.candidate_us, v.twin_us
FROM (SELECT id, time, json_transform(body, '{{"task":"VARCHAR","row":"VARCHAR",
      "lane":"VARCHAR","status":"VARCHAR","ratio":"DOUBLE","interval":["DOUBLE"],
      "baseline_us":"DOUBLE","candidate_us":"DOUBLE","twin_us":"DOUBLE"}}') AS v
      FROM rows WHERE kind = '{VERDICT}')
"""


class QueryResult(Noun):
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Plain JSON values; what JSON lacks (times, decimals, infinities) is text."""


def query(ledgers: Sequence[Ledger], sql: str) -> QueryResult:
    """Run one SELECT over the views `rows` and `verdicts` of all the ledgers.

    The statement can reach the segments of these ledgers and nothing else, and can change nothing.
    """
    duckdb = _duckdb()
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        try:
            _define_views(connection, _segments(ledgers))
            statements = connection.extract_statements(sql)
            if [item.type for item in statements] != [duckdb.StatementType.SELECT]:
                raise UsageError("a query is one SELECT statement", next_step="see docs/ledger.md")
            connection.execute(statements[0])
            columns = tuple(column[0] for column in connection.description)
            found = tuple(tuple(map(_plain, row)) for row in connection.fetchall())
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {_first_line(error)}") from error
    return QueryResult(columns=columns, rows=found)


def _duckdb() -> ModuleType:
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise UnavailableError(
            "queries need DuckDB, which is not installed",
            next_step="pip install 'assay-kernels[query]'",
        ) from error


def _segments(ledgers: Sequence[Ledger]) -> list[Segment]:
    """Each segment once, as a merge would have it: a row copied to two ledgers is one row."""
    best: dict[str, Segment] = {}
    for ledger in ledgers:
        for segment in ledger.segments():
            best[segment.name] = longer(best.get(segment.name), segment)
    return list(best.values())


def _define_views(connection: Any, segments: Sequence[Segment]) -> None:
    wholes = [_whole_rows(segment) for segment in segments]
    connection.execute(
        "CREATE TABLE segment_files (file VARCHAR, ledger VARCHAR, segment VARCHAR, whole BIGINT)"
    )
    for segment, whole in zip(segments, wholes, strict=True):
        connection.execute(
            "INSERT INTO segment_files VALUES (?, ?, ?, ?)",
            [str(segment.rows_path.absolute()), str(segment.folder), segment.name, whole],
        )
    patterns = [_pattern(segment) for segment in segments]
    literal = _literals(patterns)
    connection.execute(_ROWS % literal)
    connection.execute(_VERDICTS)
    plain = [str(segment.rows_path.absolute()) for segment in segments]
    connection.execute(f"SET allowed_paths = {_literals([*plain, *patterns])}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    _check_count(connection, sum(wholes))


def _whole_rows(segment: Segment) -> int:
    """Rows up to the last newline; a torn tail, or a row under way, is not among them."""
    with segment.rows_path.open("rb") as handle:
        for window in (_MOST_LINES, LONGEST_LINE + 1):
            handle.seek(max(0, segment.size - window))
            _, newline, last = handle.read(segment.size - handle.tell())[:-1].rpartition(b"\n")
            if newline:
                break
    match = re.match(rb'\{"n":(\d{1,16}),', last)
    return int(match[1]) + 1 if match else 0


def _check_count(connection: Any, expected: int) -> None:
    """A damaged line reads as nothing at all, so the rows are counted before they are believed."""
    found = connection.execute("SELECT count(n) FROM rows").fetchall()[0][0]
    if found != expected:
        raise EvidenceError(
            f"{found} of {expected} rows can be read", next_step="run assay ledger verify"
        )


def _pattern(segment: Segment) -> str:
    """DuckDB reads a file name as a pattern, in which brackets make a character itself."""
    path = str(segment.rows_path.absolute())
    if "\\" in path and re.search(r"[*?\[]", path):
        raise UsageError(
            "DuckDB cannot open a path with both a backslash and one of * ? [",
            where=quote(segment.folder),
            next_step="rename the folder",
        )
    return re.sub(r"([*?\[])", r"[\1]", path)


def _literals(texts: Sequence[str]) -> str:
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime.datetime():
            return value.isoformat() + ("" if value.tzinfo else "Z")
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
    return str(value)


def _first_line(error: Exception) -> str:
    return quote(next(iter(str(error).splitlines()), type(error).__name__))
