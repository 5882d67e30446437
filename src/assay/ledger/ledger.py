"""Ledger: a folder of segments. Reading never writes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from assay.ledger.chain import host_of
from assay.ledger.line import LineError
from assay.ledger.row import Row
from assay.ledger.samples import Samples
from assay.ledger.segment import ROWS_SUFFIX
from assay.ledger.segment import SAMPLES_SUFFIX
from assay.ledger.segment import Segment
from assay.ledger.segment import refuse
from assay.ledger.storage import read_at
from assay.ledger.writer import ROTATE_BYTES
from assay.ledger.writer import Writer
from assay.spec.environment import Environment
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex

_SHORTEST_PREFIX = 4


class Ledger:
    """All rows under one folder, whoever wrote them."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def writer(self, environment: Environment, *, rotate_bytes: int = ROTATE_BYTES) -> Writer:
        """A context manager that appends; see Writer."""
        return Writer(self.path, environment, rotate_bytes=rotate_bytes)

    def segments(self) -> tuple[Segment, ...]:
        """In the order of their names, which is the order they were opened in."""
        self.require()
        names = (path.name.removesuffix(ROWS_SUFFIX) for path in self.path.glob(f"*{ROWS_SUFFIX}"))
        return tuple(Segment.at(self.path, name) for name in sorted(names) if host_of(name))

    def rows(self, kind: str | None = None) -> Iterator[Row]:
        """Segment by segment; a row that breaks its chain is an EvidenceError."""
        for segment in self.segments():
            for number, line in enumerate(segment.lines(), start=1):
                if kind is not None and line.kind != kind:
                    continue
                try:
                    yield Row.from_line(segment.name, line)
                except LineError as error:
                    refuse(segment.rows_path, number, error)

    def find(self, id_prefix: str) -> Row:
        """The one row whose hash begins with these hex digits."""
        if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST_PREFIX},64}}", id_prefix):
            raise UsageError(
                f"{quote(id_prefix)!r} is no row id",
                next_step=f"give {_SHORTEST_PREFIX} or more of its hex digits",
            )
        found = [
            (segment, number, line)
            for segment in self.segments()
            for number, line in enumerate(segment.lines(), start=1)
            if line.hash.startswith(id_prefix)
        ]
        if not found:
            raise UsageError(f"no row {id_prefix}", where=quote(self.path))
        if len(found) > 1:
            raise UsageError(
                f"{id_prefix} begins {len(found)} rows",
                where=quote(self.path),
                next_step=f"say which: {', '.join(line.hash[:16] for _, _, line in found[:4])}",
            )
        segment, number, line = found[0]
        try:
            return Row.from_line(segment.name, line)
        except LineError as error:
            refuse(segment.rows_path, number, error)

    def samples(self, row: Row) -> Samples:
        """The row's raw samples, after checking that they are the ones it was written with."""
        return Samples.from_member(self.member(row))

    def member(self, row: Row) -> bytes:
        """The same as the compressed bytes that were written."""
        if row.samples is None:
            raise UsageError(f"row {row.id} has no samples", where=quote(self.path))
        path = self.path / f"{row.segment}{SAMPLES_SUFFIX}"
        fd = _open_samples(path, row.id)
        try:
            member = read_at(fd, row.samples.bytes, row.samples.offset)
        finally:
            os.close(fd)
        if sha256_hex(member) != row.samples.sha256:
            raise EvidenceError(
                f"the samples of row {row.id} are not the bytes that were written",
                where=quote(path),
                next_step="run assay ledger verify",
            )
        return member

    def require(self) -> None:
        """Raises UsageError unless there is a ledger here."""
        if not self.path.is_dir():
            raise UsageError(
                "no ledger here",
                where=quote(self.path),
                next_step="name the folder that holds its segments",
            )
        suffixes = (ROWS_SUFFIX, SAMPLES_SUFFIX)
        if not any(path.name.endswith(suffixes) for path in self.path.iterdir()):
            raise UsageError("this folder holds no ledger segments", where=quote(self.path))


def _open_samples(path: Path, row_id: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise EvidenceError(f"the samples of row {row_id} are gone", where=quote(path)) from error
