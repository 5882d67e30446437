from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ledger.line import FIRST_PREV
from assay.ledger.line import LONGEST_LINE
from assay.ledger.line import LineError
from assay.ledger.line import Span
from assay.ledger.line import decode_body
from assay.ledger.line import format_line
from assay.ledger.line import parse_line
from assay.ledger.row import Entry
from assay.spec.errors import UsageError

TIME = "2026-11-15T01:45:00.000001Z"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**60), max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text('aé\n"\\}{', max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def rehashed(hashed: bytes) -> bytes:
    """A line whose hash is right, whatever it says."""
    return hashed + b',"hash":"' + hashlib.sha256(hashed).hexdigest().encode() + b'"}\n'


def hashed_part(body: str) -> bytes:
    head = f'{{"n":1,"prev":"{FIRST_PREV}","time":"{TIME}","kind":"note","body":'
    return f'{head}{body},"samples":null'.encode()


def test_a_line_has_fixed_keys_and_hashes_the_bytes_before_its_hash() -> None:
    line, digest = format_line(
        0, FIRST_PREV, TIME, "note", {"b": 1, "a": "é"}, Span(5, 7, "f" * 64)
    )

    zeros, effs = "0" * 64, "f" * 64
    hashed = (
        f'{{"n":0,"prev":"{zeros}","time":"2026-11-15T01:45:00.000001Z","kind":"note",'
        f'"body":{{"b":1,"a":"é"}},"samples":{{"offset":5,"bytes":7,"sha256":"{effs}"}}'
    ).encode()
    assert line == hashed + f',"hash":"{digest}"}}\n'.encode()
    assert digest == hashlib.sha256(hashed).hexdigest()
    assert list(json.loads(line)) == ["n", "prev", "time", "kind", "body", "samples", "hash"]


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values, max_size=4))
def test_any_json_body_comes_back_as_it_was_on_one_line(body: dict[str, object]) -> None:
    entry = Entry.of("note", body)
    line, digest = format_line(3, "a" * 64, TIME, entry.kind, entry.body, None)

    parsed = parse_line(line)

    assert line.count(b"\n") == 1
    assert (parsed.n, parsed.prev, parsed.time, parsed.kind) == (3, "a" * 64, TIME, "note")
    assert parsed.hash == digest
    assert decode_body(parsed.body) == body


def test_a_body_that_looks_like_the_end_of_a_line_is_still_a_body() -> None:
    body = {"x": '},"samples":null,"hash":"' + "0" * 64 + '"}', "samples": None}

    assert (
        decode_body(parse_line(format_line(0, FIRST_PREV, TIME, "k", body, None)[0]).body) == body
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match=r"finite"):
        Entry.of("note", {"x": [value]})
    with pytest.raises(UsageError, match=r"cannot be written as JSON"):
        format_line(0, FIRST_PREV, TIME, "note", {"x": value}, None)


@pytest.mark.parametrize("body", [{"x": (1, 2)}, {1: 2}, {"x": {1: 2}}, {"x": b"raw"}, {"x": {1}}])
def test_nothing_is_coerced_into_json(body: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="not a ledger row"):
        Entry.of("note", body)


@pytest.mark.parametrize("kind", ["", "Note", "a b", "x" * 41, "-a", 'a"'])
def test_a_kind_is_a_short_name(kind: str) -> None:
    with pytest.raises(UsageError, match="kind"):
        Entry.of(kind, {})


def test_a_caller_cannot_change_an_entry_through_its_body() -> None:
    body = {"list": [1]}
    entry = Entry.of("note", body)
    body["list"].append(2)

    assert entry.body == {"list": [1]}


def test_half_a_surrogate_pair_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="surrogate"):
        format_line(0, FIRST_PREV, TIME, "note", {"x": "\ud800"}, None)


def test_an_integer_of_five_thousand_digits_is_refused() -> None:
    with pytest.raises(UsageError, match="JSON"):
        format_line(0, FIRST_PREV, TIME, "note", {"x": 10**5000}, None)


def test_a_line_longer_than_the_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="longer than"):
        format_line(0, FIRST_PREV, TIME, "note", {"x": "a" * LONGEST_LINE}, None)


@pytest.mark.parametrize(
    "body",
    [
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":1e999}',
        '{"a":1,"a":2}',
        '{"a":}',
        "{" + '"a":[' * 5000 + "}",
    ],
)
def test_a_body_that_no_writer_makes_is_refused_even_with_a_right_hash(body: str) -> None:
    parsed = parse_line(rehashed(hashed_part(body)))

    with pytest.raises(LineError, match="not JSON that a writer makes"):
        decode_body(parsed.body)


@pytest.mark.parametrize(
    "change",
    [
        (b'{"n":1', b'{"n":01'),
        (b'{"n":1', b'{ "n":1'),
        (b'"time":"2026', b'"time":"26'),
        (b'"kind":"note"', b'"kind":"no te"'),
        (b'"samples":null', b'"samples":nil'),
        (b'"prev":"0', b'"prev":"A'),
    ],
)
def test_a_shape_that_no_writer_makes_is_refused_even_with_a_right_hash(
    change: tuple[bytes, bytes],
) -> None:
    hashed = hashed_part("{}")
    assert parse_line(rehashed(hashed)).n == 1

    with pytest.raises(LineError, match="not one row"):
        parse_line(rehashed(hashed.replace(*change)))
