"""Repair: sets aside what a killed writer left after the last acknowledged row.

Only called by a writer that holds the segment's lock. What is cut is saved first, under
`<segment>.torn-<n>` or `<segment>.samples.torn-<n>`: nothing that was on the disk is lost.
"""

from __future__ import annotations

import os
from pathlib import Path

from assay.ledger.chain import Chain
from assay.ledger.line import LineError
from assay.ledger.segment import Segment
from assay.ledger.segment import refuse
from assay.ledger.storage import read_at
from assay.ledger.storage import write_new
from assay.spec.errors import EvidenceError
from assay.spec.errors import quote


def repair_rows(fd: int, segment: Segment) -> Chain:
    """Follow the whole chain, cut a torn tail, and return the chain's end."""
    chain = Chain(segment.name)
    for number, raw in enumerate(segment.raw_lines(), start=1):
        try:
            if raw.endswith(b"\n"):
                chain.accept(raw)
            else:
                chain.check_tail(raw)
        except LineError as error:
            refuse(segment.rows_path, number, error)
    if segment.torn:
        _cut(fd, segment.size, segment.folder / f"{segment.name}.torn")
    return chain


def repair_samples(fd: int, segment: Segment, end: int) -> None:
    """Cut the samples file to the end of the last member that a row refers to."""
    size = os.fstat(fd).st_size
    if size < end:
        raise EvidenceError(
            f"rows refer to {end} bytes of samples, {size} are here",
            where=quote(segment.samples_path),
            next_step="run assay ledger verify",
        )
    if size > end:
        _cut(fd, end, segment.folder / f"{segment.name}.samples.torn")


def _cut(fd: int, size: int, saved: Path) -> None:
    tail = read_at(fd, os.fstat(fd).st_size - size, size)
    number = 1
    while (path := saved.with_name(f"{saved.name}-{number}")).exists():
        number += 1
    write_new(path, tail)
    os.ftruncate(fd, size)
    os.fsync(fd)
