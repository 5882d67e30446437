from __future__ import annotations

import builtins
import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.ledger import Ledger
from assay.ledger import query
from assay.spec.errors import EvidenceError
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from tests.ledger.making import a_verdict
from tests.ledger.making import an_environment
from tests.ledger.making import contents
from tests.ledger.making import fill

COUNT = "SELECT count(*) FROM rows"


def verdicts(ledger: Ledger, *bodies: dict[str, Any]) -> None:
    with ledger.writer(an_environment()) as writer:
        for body in bodies:
            writer.append("row-verdict", body)


def test_rows_have_their_columns_in_this_order(ledger: Ledger) -> None:
    row = fill(ledger, 1)[0]

    result = query([ledger], "SELECT * FROM rows WHERE n = 1")

    assert result.columns == ("ledger", "segment", "n", "time", "kind", "id", "hash", "body")
    assert result.rows == (
        (str(ledger.path), row.segment, 1, row.time, "note", row.id, row.hash, '{"i":0}'),
    )


def test_verdicts_have_their_fields_as_columns(ledger: Ledger) -> None:
    verdicts(ledger, a_verdict(0))

    result = query([ledger], "SELECT * EXCLUDE (id, time) FROM verdicts")

    assert result.columns == (
        *("task", "row", "lane", "status", "ratio", "low", "high"),
        *("baseline_us", "candidate_us", "twin_us"),
    )
    assert result.rows == (
        ("cpu/rms_norm", "r0", "throughput", "FASTER", 1.25, 1.125, 1.5, 10.0, 8.0, 7.5),
    )


def test_a_verdict_may_lack_fields_and_hold_others(ledger: Ledger) -> None:
    verdicts(
        ledger,
        {"task": "a", "extra": [1]},
        a_verdict(1, ratio=None, interval=None, twin_us=None, status="UNCLEAR"),
        a_verdict(2, ratio=2, interval=[1, 3]),
    )

    result = query([ledger], "SELECT task, status, ratio, low, high, twin_us FROM verdicts")

    assert result.rows == (
        ("a", None, None, None, None, None),
        ("cpu/rms_norm", "UNCLEAR", None, None, None, None),
        ("cpu/rms_norm", "FASTER", 2.0, 1.0, 3.0, 7.5),
    )


def test_times_are_times(ledger: Ledger) -> None:
    row = fill(ledger, 1)[0]

    sql = "SELECT typeof(time), strftime(time, '%Y-%m-%dT%H:%M:%S.%fZ') FROM rows WHERE n = 1"

    assert query([ledger], sql).rows == (("TIMESTAMP", row.time),)


def test_all_ledgers_are_asked_and_a_copied_row_counts_once(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, 3)
    other, copy = Ledger(tmp_path / "other"), Ledger(tmp_path / "copy")
    fill(other, 2, host="h999")
    shutil.copytree(ledger.path, copy.path)
    fill(ledger, 1, first=9)

    assert query([ledger, other], COUNT).rows == ((5 + 3,),)
    assert query([copy, ledger, other, ledger], COUNT).rows == ((5 + 3,),)


@pytest.mark.parametrize("cut", [1, 2, 40, 100, 330])
def test_a_torn_tail_neither_breaks_nor_enters_a_query(ledger: Ledger, cut: int) -> None:
    rows = fill(ledger, 3)
    path = ledger.segments()[0].rows_path
    path.write_bytes(path.read_bytes()[:-cut])

    result = query([ledger], "SELECT id FROM rows WHERE kind = 'note' ORDER BY n")

    assert [row[0] for row in result.rows] == [row.id for row in rows[:2]]


def test_a_row_that_cannot_be_read_is_not_passed_over(ledger: Ledger) -> None:
    fill(ledger, 3)
    path = ledger.segments()[0].rows_path
    path.write_bytes(path.read_bytes().replace(b'{"i":1}', b'{"i":1 '))

    with pytest.raises(EvidenceError, match=r"3 of 4 rows can be read \(run assay ledger verify\)"):
        query([ledger], COUNT)


@pytest.mark.parametrize(
    "name", ["it's", "a b", "a*b", "a?b", "a[x]b", "{a,b}", "é中", "a\\b", "s3:x", "a%sb", '"q"']
)
def test_any_folder_name_can_be_queried_and_means_itself(tmp_path: Path, name: str) -> None:
    ledger = Ledger(tmp_path / name)
    fill(ledger, 3)
    for decoy in ("axb", "aQb", "a", "b"):
        shutil.copytree(ledger.path, tmp_path / decoy)

    assert query([ledger], COUNT).rows == ((4,),)
    assert query([ledger], "SELECT DISTINCT ledger FROM rows").rows == ((str(ledger.path),),)


def test_a_path_that_duckdb_cannot_open_is_one_clear_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a\\*b")
    fill(ledger, 1)

    with pytest.raises(UsageError, match="backslash"):
        query([ledger], COUNT)


def test_a_relative_path_can_be_queried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fill(Ledger("here"), 1)

    assert query([Ledger("here")], COUNT).rows == ((2,),)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "SELECT 1; SELECT 2",
        "CREATE TABLE t (a INT)",
        "INSERT INTO segment_files VALUES ('a', 'b', 'c', 1)",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'x.db'",
        "SET threads = 1",
        "PRAGMA database_list",
        "EXPLAIN ANALYZE SELECT 1",
        "INSTALL httpfs",
        "CALL pragma_version()",
        "DROP VIEW rows",
    ],
)
def test_only_one_select_is_taken(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    fill(ledger, 1)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())

    with pytest.raises(UsageError, match="a query is one SELECT statement"):
        query([ledger], sql)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_json_objects('{secret}')",
        "SELECT * FROM read_text('{ledger}/../secret.csv')",
        "SELECT * FROM read_text('{ledger}/*')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM sniff_csv('{secret}')",
        "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
        "SELECT * FROM read_text('https://example.invalid/x')",
        "SELECT * FROM enable_logging(storage_path = '{folder}/log')",
        "SELECT * FROM enable_profiling(save_location = '{folder}/profile')",
        "SELECT set_config('threads', '1')",
    ],
)
def test_a_select_reaches_nothing_but_the_segments(
    ledger: Ledger, tmp_path: Path, sql: str
) -> None:
    fill(ledger, 1)
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    names = {"secret": secret, "ledger": ledger.path, "folder": tmp_path}
    before = sorted(tmp_path.iterdir())

    with pytest.raises(UsageError, match="the query failed"):
        query([ledger], sql.format(**names))
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_is_spilled_to_disk_or_fetched_from_the_network(ledger: Ledger) -> None:
    fill(ledger, 1)
    names = ("temp_directory", "autoinstall_known_extensions", "autoload_known_extensions")
    sql = "SELECT " + ", ".join(f"current_setting('{name}')" for name in names)

    assert query([ledger], sql).rows == (("", False, False),)


def test_rows_of_any_length_can_be_queried(ledger: Ledger) -> None:
    with ledger.writer(an_environment()) as writer:
        writer.append("note", {"pad": "x" * 200_000})
        assert query([ledger], COUNT).rows == ((2,),)
        writer.append("note", {"pad": "x" * (8_300_000)})
        writer.append("note", {})

    assert query([ledger], COUNT).rows == ((4,),)


def test_a_query_writes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger, 3)
    before = contents(ledger.path)

    query([ledger], "SELECT * FROM rows ORDER BY hash")

    assert contents(ledger.path) == before
    assert list(tmp_path.iterdir()) == [ledger.path]


@pytest.mark.parametrize(
    "sql", ["SELEC 1", "SELECT nope FROM rows", "SELECT '\x1b[31m' + 1", "SELECT CAST('a' AS INT)"]
)
def test_bad_sql_is_one_clear_line(ledger: Ledger, sql: str) -> None:
    fill(ledger, 1)

    with pytest.raises(UsageError) as caught:
        query([ledger], sql)

    assert caught.value.exit_status == 64
    assert str(caught.value).startswith("the query failed: ")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_what_json_lacks_becomes_text(ledger: Ledger) -> None:
    fill(ledger, 1)
    sql = """SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, DATE '2026-01-02', 1.50::DECIMAL(4, 2),
             [1, NULL], {'a': 'nan'::DOUBLE}, TRUE, NULL, 'x'::BLOB"""

    assert query([ledger], sql).rows == (
        ("nan", "inf", "2026-01-02", "1.50", [1, None], {"a": "nan"}, True, None, "b'x'"),
    )


def test_bodies_of_every_sort_come_through_as_they_are(ledger: Ledger) -> None:
    body = {"big": 10**40, "text": 'é\u2028"\\\n', "zero": "\0", "deep": {"a": [{"b": None}]}}
    with ledger.writer(an_environment()) as writer:
        writer.append("note", body)

    result = query([ledger], "SELECT body, body->>'$.text' FROM rows WHERE kind = 'note'")

    written = ledger.segments()[0].rows_path.read_text()
    assert f'"body":{result.rows[0][0]},"samples"' in written
    assert result.rows[0][1] == body["text"]


def test_without_duckdb_the_extra_is_named(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ledger, 1)
    real = importlib.import_module

    def absent(name: str, package: str | None = None) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(UnavailableError, match=r"pip install 'assay-kernels\[query\]'"):
        query([ledger], COUNT)


def test_reading_and_writing_need_no_duckdb(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "duckdb", raising=False)
    real = builtins.__import__

    def guarded(name: str, *arguments: Any, **options: Any) -> Any:
        assert not name.startswith("duckdb")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", guarded)
    fill(ledger, 1)
    assert len(list(ledger.rows())) == 2
