"""Samples: raw measurements in the order they were taken, in columns."""

from __future__ import annotations

import json
import zlib
from functools import cached_property

from pydantic import ValidationError
from pydantic import model_validator

from assay.spec.errors import EvidenceError
from assay.spec.noun import Name
from assay.spec.noun import Noun

Value = int | float | str

_GZIP = 16 + zlib.MAX_WBITS
# A member that unpacks to more than this was not written by a judge: 1,600 samples are 50 kB.
_LONGEST_TEXT = 256 << 20


class Samples(Noun):
    """Columns of equal length; row i of all columns is the i-th sample.

    >>> Samples(columns={"side": ["a", "b"], "nanoseconds": [81_204, 79_911]}).count
    2
    """

    columns: dict[Name, list[Value]]

    @model_validator(mode="after")
    def _equal_lengths(self) -> Samples:
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns differ in length: {lengths}")
        return self

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values()), []))

    @cached_property
    def member(self) -> bytes:
        """One gzip member holding one JSON line, so that zcat of many gives JSON lines.

        zlib writes a zero time stamp here: equal samples give equal bytes.
        """
        text = json.dumps(self.columns, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
        return packer.compress(text.encode() + b"\n") + packer.flush()

    @classmethod
    def from_member(cls, member: bytes, longest: int = _LONGEST_TEXT) -> Samples:
        """Raises EvidenceError when the bytes are not one member that a writer makes."""
        unpacker = zlib.decompressobj(_GZIP)
        try:
            text = unpacker.decompress(member, longest)
            if not unpacker.eof or unpacker.unused_data:
                raise EvidenceError("samples are not one gzip member")
            return cls(columns=json.loads(text.decode()))
        except (zlib.error, ValueError, ValidationError, RecursionError) as error:
            raise EvidenceError(f"samples cannot be read: {type(error).__name__}") from error
