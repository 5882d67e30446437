"""What all nouns share: frozen, strict, without unknown keys, hashed by content."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated
from typing import Any
from typing import ClassVar

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import StringConstraints

# Names become file names, table cells and SQL values, so they hold nothing that needs quoting.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=120)]
TaskName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$", max_length=240
    ),
]
Version = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+!-]*$", max_length=80)
]
Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# No control characters: a sentence is printed on one line of a terminal.
Sentence = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=2000)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Positive = Annotated[int, Field(ge=1, le=2**53)]
Seconds = Annotated[float, Field(gt=0, le=1e7)]
Microseconds = Annotated[float, Field(gt=0, le=1e13)]
Ratio = Annotated[float, Field(gt=0, le=1e12)]


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, UTF-8, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Noun(BaseModel):
    """Base of every noun. Equal content gives an equal hash on every machine and version."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        ser_json_inf_nan="constants",
        validate_default=True,
        use_attribute_docstrings=True,
        ignored_types=(cached_property,),
    )

    def content(self) -> dict[str, Any]:
        """The noun as plain JSON values."""
        return self.model_dump(mode="json")

    @cached_property
    def content_hash(self) -> str:
        return sha256_hex(canonical_json([type(self).__name__, self.content()]))


class Document(Noun):
    """A noun that stands in a file of its own, and therefore names its schema.

    A reader refuses a schema it does not know; it never guesses at a newer file's meaning.
    """

    SCHEMA: ClassVar[str]

    def content(self) -> dict[str, Any]:
        return {"schema": self.SCHEMA, **super().content()}
