"""Merge: copies segments of many ledgers into one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.ledger.ledger import Ledger
from assay.ledger.report import MergeReport
from assay.ledger.segment import Segment
from assay.ledger.segment import longer
from assay.ledger.storage import make_folder
from assay.ledger.storage import refusal_explained
from assay.ledger.storage import sync_folder
from assay.ledger.verify import verify
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import quote

_STEP = 1 << 20


def merge(sources: Sequence[Ledger], destination: Ledger) -> MergeReport:
    """Copy what `destination` lacks. Nothing is written before everything has been checked.

    Only whole, referenced rows and samples are copied, so a torn tail stays where it was torn.
    """
    here = _checked(destination) if destination.path.exists() and _any(destination) else {}
    best = dict(here)
    for source in sources:
        for name, segment in _checked(source).items():
            best[name] = longer(best.get(name), segment)
    with refusal_explained("merge into the ledger", destination.path):
        make_folder(destination.path)
        for name, segment in sorted(best.items()):
            if segment is not here.get(name):
                _copy(segment, destination.path)
    return MergeReport(
        destination=str(destination.path),
        copied=tuple(sorted(best.keys() - here.keys())),
        extended=tuple(sorted(name for name in here if best[name] is not here[name])),
        kept=tuple(sorted(name for name in here if best[name] is here[name])),
    )


def _any(ledger: Ledger) -> bool:
    return ledger.path.is_dir() and any(ledger.path.iterdir())


def _checked(ledger: Ledger) -> dict[str, Segment]:
    # Sizes are taken before the check, so that rows added meanwhile are not copied unchecked.
    segments = ledger.segments()
    report = verify(ledger)
    if report.problems:
        raise EvidenceError(
            f"{len(report.problems)} problems, the first: {report.problems[0]}",
            where=quote(ledger.path),
            next_step="nothing was copied; see assay ledger verify",
        )
    return {segment.name: segment for segment in segments}


def _copy(segment: Segment, folder: Path) -> None:
    """Samples first: rows must never stand without the samples that they refer to."""
    end = max((line.samples.end for line in segment.lines() if line.samples), default=0)
    rows = folder / segment.rows_path.name
    with _not_being_written(rows):
        if end:
            _replace(segment.samples_path, end, folder / segment.samples_path.name)
        _replace(segment.rows_path, segment.size, rows)


@contextmanager
def _not_being_written(path: Path) -> Iterator[None]:
    if not path.exists():
        yield
        return
    with path.open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                "a writer has this segment open",
                where=quote(path),
                next_step="merge when it has finished",
            ) from error
        yield


def _replace(source: Path, size: int, target: Path) -> None:
    """Put the first `size` bytes in place under the target's name, all of them or none."""
    unnamed = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with source.open("rb") as reader, unnamed.open("wb") as writer:
            left = size
            while left and (part := reader.read(min(left, _STEP))):
                writer.write(part)
                left -= len(part)
            writer.flush()
            os.fsync(writer.fileno())
        os.replace(unnamed, target)
    finally:
        unnamed.unlink(missing_ok=True)
    sync_folder(target.parent)
