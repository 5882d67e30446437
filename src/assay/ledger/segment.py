"""Segment: the rows of one writer, and the samples beside them, for reading."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from assay.ledger.chain import Chain
from assay.ledger.chain import host_of
from assay.ledger.line import Line
from assay.ledger.line import LineError
from assay.ledger.report import Finding
from assay.ledger.storage import read_at
from assay.spec.errors import EvidenceError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Name
from assay.spec.noun import Noun

ROWS_SUFFIX = ".jsonl"
SAMPLES_SUFFIX = ".samples.gz"

_STEP = 1 << 16


class Segment(Noun):
    """A segment as it stood when it was looked at; a writer may be adding to it."""

    folder: Path
    name: Name
    size: Count
    """Bytes of whole rows."""
    torn: Count
    """Bytes after the last whole row: a write that was cut short, or is under way."""

    @classmethod
    def at(cls, folder: Path, name: str) -> Segment:
        total, whole = _measure(folder / f"{name}{ROWS_SUFFIX}")
        return cls(folder=folder, name=name, size=whole, torn=total - whole)

    @property
    def host(self) -> str | None:
        return host_of(self.name)

    @property
    def rows_path(self) -> Path:
        return self.folder / f"{self.name}{ROWS_SUFFIX}"

    @property
    def samples_path(self) -> Path:
        return self.folder / f"{self.name}{SAMPLES_SUFFIX}"

    @property
    def remark(self) -> Finding | None:
        """Says so when the tail is torn."""
        if not self.torn:
            return None
        return torn_tail(self.rows_path.name, self.size, self.size + self.torn)

    def lines(self) -> Iterator[Line]:
        """Whole lines in order, each checked against the one before it.

        A torn tail is passed over; anything else that is wrong is an EvidenceError.
        """
        chain = Chain(self.name)
        for number, raw in enumerate(self.raw_lines(), start=1):
            try:
                if not raw.endswith(b"\n"):
                    chain.check_tail(raw)
                    return
                yield chain.accept(raw)
            except LineError as error:
                refuse(self.rows_path, number, error)

    def raw_lines(self) -> Iterator[bytes]:
        """Lines up to the size that was seen, then the torn tail if there was one."""
        left = self.size + self.torn
        with self.rows_path.open("rb") as handle:
            for raw in handle:
                if left <= 0:
                    return
                yield raw[:left]
                left -= len(raw)


def longer(one: Segment | None, other: Segment) -> Segment:
    """The longer of two copies of a segment, when one goes on where the other ends."""
    if one is None:
        return other
    for number, (a, b) in enumerate(zip(_whole_lines(one), _whole_lines(other), strict=False)):
        if a != b:
            raise EvidenceError(
                f"fork: segment {one.name} differs from row {number} on "
                f"between {quote(one.folder)} and {quote(other.folder)}",
                next_step="one of the two was continued from a copy; keep them apart",
            )
    return one if one.size >= other.size else other


def _whole_lines(segment: Segment) -> Iterator[bytes]:
    return (raw for raw in segment.raw_lines() if raw.endswith(b"\n"))


def torn_tail(file: str, start: int, end: int, line: int | None = None) -> Finding:
    return Finding(
        file=file,
        line=line,
        start=start,
        end=end,
        what="torn tail: a write was cut short before it was acknowledged; "
        "the next writer sets it aside",
    )


def refuse(path: Path, number: int, error: LineError) -> NoReturn:
    raise EvidenceError(
        str(error),
        where=f"{path}:{number}",
        next_step="run assay ledger verify; restore the file or move it out of the ledger",
    ) from error


def _measure(path: Path) -> tuple[int, int]:
    """Bytes in all, and bytes up to and with the last newline."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        total = end = os.fstat(fd).st_size
        while end > 0:
            start = max(0, end - _STEP)
            newline = read_at(fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                return total, start + newline + 1
            end = start
        return total, 0
    finally:
        os.close(fd)
