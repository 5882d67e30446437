"""Reads TOML and JSON files into nouns, strictly: nothing is coerced, nothing is ignored.

Everything that can be wrong with a file ends in one DocumentError that names file and key.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import TypeVar

from pydantic import ValidationError

from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Document

_LARGEST_FILE = 32 * 2**20
_DEEPEST = 64

D = TypeVar("D", bound=Document)


def read_document(path: Path, kind: type[D]) -> D:
    """The noun that a `.toml` or `.json` file holds.

    Raises UsageError if the file cannot be read and DocumentError if it does not hold one.
    """
    parse = _parser(path)
    return parse_document(parse(_text(_read(path), path), quote(path)), kind, quote(path))


def read_document_bytes(data: bytes, path: Path, kind: type[D]) -> D:
    """The same for bytes that were read before, so that a hash and the noun are of one reading."""
    parse = _parser(path)
    return parse_document(parse(_text(data, path), quote(path)), kind, quote(path))


def _parser(path: Path) -> Callable[[str, str], Any]:
    parse = _PARSERS.get(path.suffix)
    if parse is None:
        raise UsageError(f"not a {' or '.join(_PARSERS)} file", where=quote(path))
    return parse


def parse_document(value: Any, kind: type[D], where: str) -> D:
    """The noun that a plain value holds, as read_document gives it."""
    if not isinstance(value, dict):
        raise DocumentError("the top level is not a table", where=where)
    _check_plain(value, (), where)
    schema = value.get("schema")
    if schema != kind.SCHEMA:
        found = "is missing" if schema is None else f'is "{quote(schema)}"'
        raise DocumentError(
            f"schema {found}",
            where=f"{where}: key schema",
            next_step=f'this version reads "{kind.SCHEMA}"',
        )
    body = {key: part for key, part in value.items() if key != "schema"}
    try:
        # By way of JSON: pydantic's strict mode then takes lists for tuples and strings for
        # enums, as files must write them, and still coerces nothing.
        return kind.model_validate_json(json.dumps(body))
    except ValidationError as error:
        raise _document_error(error, where) from None


def _read(path: Path) -> bytes:
    where = quote(path)
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where) from None
    if len(data) > _LARGEST_FILE:
        raise DocumentError(f"larger than {_LARGEST_FILE} bytes", where=where)
    return data


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 at byte {error.start}", where=quote(path)) from None


def _toml(text: str, where: str) -> Any:
    return _parsed(tomllib.loads, text, where, "TOML")


def _json(text: str, where: str) -> Any:
    def loads(source: str) -> Any:
        return json.loads(source, object_pairs_hook=_unique, parse_constant=_no_constant)

    return _parsed(loads, text, where, "JSON")


_PARSERS: dict[str, Callable[[str, str], Any]] = {".toml": _toml, ".json": _json}


def _parsed(loads: Callable[[str], Any], text: str, where: str, language: str) -> Any:
    try:
        return loads(text)
    except RecursionError:
        raise DocumentError("nested too deeply", where=where) from None
    except ValueError as error:  # both parsers' errors, and Python's limit on digits
        raise DocumentError(f"not {language}: {quote(error)}", where=where) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice} stands twice")
    return table


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON knows")


def _check_plain(value: Any, key: tuple[str, ...], where: str) -> None:
    """Refuse what JSON cannot say the same way: dates, NaN, infinities, lone surrogates."""
    problem = None
    if len(key) > _DEEPEST:
        problem = "nested too deeply"
    elif isinstance(value, dict):
        for name, part in value.items():
            _check_plain(name, (*key, name), where)
            _check_plain(part, (*key, name), where)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _check_plain(part, (*key, str(index)), where)
    elif isinstance(value, float):
        problem = None if math.isfinite(value) else "not a finite number"
    elif isinstance(value, str):
        problem = None if _is_unicode(value) else "holds half a character"
    elif isinstance(value, int) and not isinstance(value, bool):
        # Beyond this no field of ours can hold it, and some JSON readers round it.
        problem = None if abs(value) < 2**64 else "too large a number"
    elif value is not None and not isinstance(value, bool):
        problem = f"a {type(value).__name__}, which no field takes"
    if problem is not None:
        raise DocumentError(problem, where=f"{where}: key {_dotted(key)}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _document_error(error: ValidationError, where: str) -> DocumentError:
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    key = _dotted(first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    got = "" if isinstance(first["input"], dict | list) else f", got {quote(repr(first['input']))}"
    return DocumentError(
        f"{quote(message)}{got}{more}", where=f"{where}: key {key}" if key else where
    )


def _dotted(key: tuple[int | str, ...]) -> str:
    return quote(".".join(str(part) for part in key))
