"""Row, and the Entry that it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from typing import Any

from pydantic import JsonValue
from pydantic import StringConstraints
from pydantic import ValidationError

from assay.ledger.line import Line
from assay.ledger.line import LineError
from assay.ledger.line import decode_body
from assay.ledger.samples import Samples
from assay.spec.environment import Timestamp
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Sha256

OPENING = "open"
ID_DIGITS = 12

Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]


class Entry(Noun):
    """What a caller hands to a writer. The body is copied and nothing in it is coerced."""

    kind: Kind
    body: dict[str, JsonValue]
    samples: Samples | None = None

    @classmethod
    def of(cls, kind: str, body: Mapping[str, Any], samples: Samples | None = None) -> Entry:
        try:
            return cls(kind=kind, body=dict(body), samples=samples)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise UsageError(
                f"not a ledger row: {quote(place)}: {quote(first['msg'])}",
                next_step="rows hold plain JSON values",
            ) from error


class SampleSpan(Noun):
    """Where a row's compressed samples lie in the segment's samples file."""

    offset: Count
    bytes: Positive
    sha256: Sha256


class Row(Noun):
    """One acknowledged row: it is on the disk, and the chain holds it."""

    segment: Name
    n: Count
    prev: Sha256
    time: Timestamp
    kind: Kind
    body: dict[str, Any]
    samples: SampleSpan | None
    hash: Sha256

    @property
    def id(self) -> str:
        """What people call the row."""
        return self.hash[:ID_DIGITS]

    @classmethod
    def from_line(cls, segment: str, line: Line) -> Row:
        """Raises LineError when the body is not plain JSON."""
        try:
            return cls(
                segment=segment,
                n=line.n,
                prev=line.prev,
                time=line.time,
                kind=line.kind,
                body=decode_body(line.body),
                samples=SampleSpan(**line.samples._asdict()) if line.samples else None,
                hash=line.hash,
            )
        except ValidationError as error:
            raise LineError(quote(error.errors(include_url=False)[0]["msg"])) from error
