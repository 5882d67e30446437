"""What the scans of all languages share: opaque data, and words that speak to a reviewer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.spec.attention import Finding
from assay.spec.attention import FindingKind
from assay.spec.errors import quote

OPAQUE_LENGTH = 120
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_\\-]+")
_TO_A_REVIEWER = re.compile(
    r"\b(ignore|disregard|forget)\b[^.\n]{0,40}\b(instructions?|rules|prompt|above|previous)\b"
    r"|\b(dear|attention|note (to|for))\b[^.\n]{0,20}"
    r"\b(reviewer|grader|judge|evaluator|auditor|assistant|model|llm)\b"
    r"|\b(as an? )(ai|llm|language model)\b"
    r"|\b(system|assistant) ?(prompt|message)\b"
    r"|\b(mark|rate|score|grade|approve|accept|report)\b[^.\n]{0,30}"
    r"\b(as (correct|valid|passed|safe)|this (solution|submission|kernel))\b"
    r"|\b(already|has been|was) (reviewed|verified|approved|audited)\b",
    re.IGNORECASE,
)


def is_opaque(text: str) -> bool:
    """Long, without a space, and in the alphabet of encoded data."""
    return len(text) >= OPAQUE_LENGTH and _OPAQUE.fullmatch(text) is not None


def speaks_to_reviewer(text: str) -> bool:
    return _TO_A_REVIEWER.search(text) is not None


def to_reviewer(path: str, line: int, text: str) -> Iterator[Finding]:
    """A finding for each line of a comment that speaks to a reviewer."""
    for offset, part in enumerate(text.split("\n")):
        if speaks_to_reviewer(part):
            yield seen(FindingKind.REVIEWER, path, line + offset, part.strip())


def seen(kind: FindingKind, path: str, line: int, what: str) -> Finding:
    """A finding, with foreign text in it made safe and short."""
    return Finding(file=quote(path), line=line, kind=kind, what=quote(what))
