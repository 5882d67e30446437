from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import _edge
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import Samples
from tests.ledger.making import a_verdict
from tests.ledger.making import an_environment


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger of two notes, one with samples, where the verbs look when nobody says."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    ledger = Ledger(tmp_path / "ledger")
    with ledger.writer(an_environment()) as writer:
        writer.append("note", {"text": "\x1b[31mred\n"})
        writer.append("note", {"i": 2}, Samples(columns={"side": ["A", "B"], "ns": [5, 4]}))
    return ledger


def notes(ledger: Ledger) -> list[Row]:
    return list(ledger.rows("note"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = _edge.run(["ledger", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_verify_says_yes_in_a_table(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "verify")

    assert (status, err) == (0, "")
    head, row = (line.split() for line in out.splitlines())
    assert head == ["ledger", "segments", "rows", "recomputed", "remarks", "problems"]
    assert row == [str(home.path), "1", "3", "1", "0", "0"]


def test_verify_says_no_with_one_line_for_each_problem(
    home: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = home.segments()[0]
    segment.rows_path.write_bytes(segment.rows_path.read_bytes().replace(b'"i":2', b'"i":3'))
    (home.path / "stray").write_text("")

    status, out, err = run(capsys, "verify", str(home.path))

    assert (status, err) == (1, "")
    lines = out.splitlines()[2:]
    assert lines[0] == f"remark: {home.path}: stray: not part of the ledger"
    assert lines[2].startswith(f"problem: {home.path}: {segment.rows_path.name}:3 bytes ")
    assert lines[2].endswith("the bytes of this row do not give its hash: it was changed")

    status, out, _ = run(capsys, "verify", "--json")
    (report,) = json.loads(out)
    assert (status, report["ok"], report["problems"][0]["line"]) == (1, False, 3)


def test_verify_judges_the_samples_of_a_verdict_again(
    home: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    with home.writer(an_environment()) as writer:
        row = writer.append("row-verdict", a_verdict(), Samples(columns={"ns": [1]}))

    status, out, _ = run(capsys, "verify")

    # A verdict without its rules cannot be judged again, and that is said.
    assert status == 1
    assert f"row {row.id}: its samples cannot be judged again" in out


def test_verify_takes_many_ledgers(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    reports = run_json(capsys, "verify", str(home.path), str(home.path))

    assert [report["rows"] for report in reports] == [3, 3]


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "/no/such/ledger"),
        ("query", "SELECT 1", "--ledger", "/no/such/ledger"),
        ("merge", "/no/such/ledger", "--into", "/no/such/other"),
        ("show", "--ledger", "/no/such/ledger"),
        ("show", "abcd", "--ledger", "/no/such/ledger"),
    ],
)
def test_a_path_that_is_not_there_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, *arguments)

    assert (status, out) == (64, "")
    assert err == (
        "assay: /no/such/ledger: no ledger here (name the folder that holds its segments)\n"
    )


def test_query_prints_aligned_columns(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT kind, count(*) AS rows, NULL AS none FROM rows GROUP BY kind ORDER BY kind"

    status, out, _ = run(capsys, "query", sql)

    assert status == 0
    assert [line.rstrip() for line in out.splitlines()] == [
        "kind  rows  none",
        "note     2  -",
        "open     1  -",
    ]


def test_query_as_json_gives_objects(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT n, 'inf'::DOUBLE AS x FROM rows WHERE n = 1"

    assert run_json(capsys, "query", sql, "--ledger", str(home.path)) == [{"n": 1, "x": "inf"}]


def test_bad_sql_is_one_clear_line(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "query", "SELEC 1")

    assert (status, out) == (64, "")
    assert err.startswith("assay: the query failed: ")
    assert err.count("\n") == 1


def test_merge_says_what_became_of_each_segment(
    home: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = home.segments()[0].name
    into = tmp_path / "into"

    status, out, _ = run(capsys, "merge", str(home.path), "--into", str(into))

    assert status == 0
    assert [line.split() for line in out.splitlines()] == [["segment", "outcome"], [name, "copied"]]
    assert run_json(capsys, "merge", str(home.path), "--into", str(into)) == {
        "destination": str(into),
        "copied": [],
        "extended": [],
        "kept": [name],
    }


def test_a_merge_of_damaged_evidence_says_no(
    home: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.segments()[0].samples_path.unlink()

    status, _, err = run(capsys, "merge", str(home.path), "--into", str(tmp_path / "into"))

    assert status == 1
    assert "1 problems, the first: " in err
    assert not (tmp_path / "into").exists()


def test_show_lists_the_newest_rows_without_touching_the_terminal(
    home: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "show", "--limit", "2")

    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [
        "id",
        *(row.id for row in notes(home)),
    ]
    assert "\x1b" not in out
    assert [row["n"] for row in run_json(capsys, "show", "--limit", "2")] == [1, 2]


def test_show_one_row_with_its_samples(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    row = notes(home)[1]

    status, out, _ = run(capsys, "show", row.hash[:20])

    assert status == 0
    assert "2 of side, ns" in out
    assert out.endswith('{\n  "i": 2\n}\n')
    shown = run_json(capsys, "show", row.id)
    assert shown["columns"] == {"side": ["A", "B"], "ns": [5, 4]}
    assert (shown["id"], shown["body"]) == (row.id, {"i": 2})


def test_show_one_row_escapes_what_could_steer_a_terminal(
    home: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "show", notes(home)[0].id)

    assert "\x1b" not in out
    assert "\\u001b[31mred" in out


def test_show_remarks_on_a_torn_tail(home: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    with home.segments()[0].rows_path.open("ab") as handle:
        handle.write(b'{"n":3')

    status, out, err = run(capsys, "show")

    assert status == 0
    assert len(out.splitlines()) == 4
    assert err.startswith(f"assay: remark: {home.path}: ")
    assert "torn tail" in err
