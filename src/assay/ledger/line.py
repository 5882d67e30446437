"""Line: one row as the bytes that stand in a segment.

A line is hashed as bytes and never serialised a second time, so what is checked is what lies on the
disk. Its grammar is fixed: key order, no spaces, and after the hash nothing but `"}` and a newline.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any
from typing import NamedTuple
from typing import NoReturn

from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex

FIRST_PREV = "0" * 64
LONGEST_LINE = 8 << 20

_BEFORE_HASH = b',"hash":"'
_AFTER_HASH = b'"}\n'
_HASH_PART = len(_BEFORE_HASH) + 64 + len(_AFTER_HASH)
_GRAMMAR = re.compile(
    rb'\{"n":(?P<n>0|[1-9][0-9]{0,15})'
    rb',"prev":"(?P<prev>[0-9a-f]{64})"'
    rb',"time":"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"'
    rb',"kind":"(?P<kind>[a-z][a-z0-9-]{0,39})"'
    rb',"body":(?P<body>\{.*\})'
    rb',"samples":(?:null|\{"offset":(?P<offset>0|[1-9][0-9]{0,15})'
    rb',"bytes":(?P<bytes>[1-9][0-9]{0,15})'
    rb',"sha256":"(?P<sha256>[0-9a-f]{64})"\})'
    rb',"hash":"(?P<hash>[0-9a-f]{64})"\}\n',
    re.DOTALL,
)


class LineError(ValueError):
    """What is wrong with a line; whoever knows the file and the place says where."""


class Span(NamedTuple):
    """Where a row's compressed samples lie in the samples file."""

    offset: int
    bytes: int
    sha256: str

    @property
    def end(self) -> int:
        return self.offset + self.bytes


class Line(NamedTuple):
    n: int
    prev: str
    time: str
    kind: str
    body: bytes
    samples: Span | None
    hash: str


def format_line(
    n: int, prev: str, time: str, kind: str, body: dict[str, Any], samples: Span | None
) -> tuple[bytes, str]:
    """The bytes of one row, and its hash."""
    span = json.dumps(samples and samples._asdict(), separators=(",", ":"))
    head = f'{{"n":{n},"prev":"{prev}","time":"{time}","kind":"{kind}","body":'.encode()
    hashed = head + _body_bytes(body) + f',"samples":{span}'.encode()
    digest = sha256_hex(hashed)
    line = hashed + _BEFORE_HASH + digest.encode() + _AFTER_HASH
    if len(line) > LONGEST_LINE:
        raise UsageError(
            f"a row of {len(line)} bytes is longer than {LONGEST_LINE}",
            next_step="put bulk into samples",
        )
    return line, digest


def parse_line(raw: bytes) -> Line:
    """The parts of one whole line, with its hash checked; raises LineError."""
    match = _GRAMMAR.fullmatch(raw)
    if match is None:
        raise LineError(_shape_fault(raw))
    if sha256_hex(raw[:-_HASH_PART]).encode() != match["hash"]:
        raise LineError("the bytes of this row do not give its hash: it was changed")
    span = None
    if match["offset"] is not None:
        span = Span(int(match["offset"]), int(match["bytes"]), match["sha256"].decode())
    return Line(
        int(match["n"]),
        match["prev"].decode(),
        match["time"].decode(),
        match["kind"].decode(),
        match["body"],
        span,
        match["hash"].decode(),
    )


def claimed_hash(raw: bytes) -> str | None:
    """The hash that a possibly damaged line states, so that the next line can still be checked."""
    stated = raw[-len(_AFTER_HASH) - 64 : -len(_AFTER_HASH)]
    return stated.decode() if re.fullmatch(rb"[0-9a-f]{64}", stated) else None


def line_opening(n: int, prev: str) -> bytes:
    """What a line must begin with when it follows a known one."""
    return f'{{"n":{n},"prev":"{prev}","time":"'.encode()


def decode_body(body: bytes) -> dict[str, Any]:
    """The body as JSON values; raises LineError."""
    try:
        value = _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise LineError(f"the body is not JSON that a writer makes: {error}") from error
    if not isinstance(value, dict):
        raise LineError("the body is not a JSON object")
    return value


def _body_bytes(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "a row's body holds half of a surrogate pair, which UTF-8 cannot hold",
            next_step="decode foreign text with errors='replace'",
        ) from error
    except ValueError as error:
        raise UsageError(f"a row's body cannot be written as JSON: {error}") from error


def _shape_fault(raw: bytes) -> str:
    if not raw.endswith(_AFTER_HASH):
        return "the line does not end as a row does"
    if raw[-_HASH_PART:].startswith(_BEFORE_HASH) and claimed_hash(raw) is not None:
        return "the line is not one row: a byte of its shape was changed, or two rows were joined"
    return "the row's hash is damaged"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers may pick different ones of two equal keys, so no row may hold both.
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
