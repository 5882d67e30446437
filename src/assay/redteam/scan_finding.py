"""Finding: one thing in a source that a reader should look at."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.spec.errors import quote


class FindingKind(enum.StrEnum):
    IMPORT = "import"
    """A module or call that no kernel needs: the evaluator's, processes, frames, the network."""
    OBFUSCATION = "obfuscation"
    """Code that is made at run time, from data that cannot be read."""
    OPAQUE_LITERAL = "opaque_literal"
    """A long string or list of bytes that says nothing to a reader."""
    VENDOR_LIBRARY = "vendor_library"
    """Somebody else's finished kernel."""
    NATIVE_LOADING = "native_loading"
    """A library or symbol that is looked up by name at run time."""
    BUILT_NAME = "built_name"
    """A name put together from pieces, or spelled in letters of another alphabet."""
    REVIEWER = "reviewer"
    """Words that speak to whoever reviews the source."""


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    path: str
    line: int
    what: str

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "path": self.path, "line": self.line, "what": self.what}


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


def to_reviewer(path: str, line: int, text: str) -> Iterator[Finding]:
    """A finding for each line of a comment that speaks to a reviewer."""
    for offset, part in enumerate(text.splitlines()):
        if _TO_A_REVIEWER.search(part):
            yield Finding(FindingKind.REVIEWER, path, line + offset, quote(part.strip()))
