"""Finding, VerifyReport and MergeReport: what looking at ledgers has shown."""

from __future__ import annotations

from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Positive


class Finding(Noun):
    """One thing seen in one file: a problem, or a remark that is none."""

    file: str
    line: Positive | None = None
    start: Count = 0
    """First byte."""
    end: Count = 0
    """One past the last byte; equal to `start` when the whole file is meant."""
    what: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.end > self.start:
            place += f" bytes {self.start} to {self.end - 1}"
        return f"{place}: {self.what}"


class VerifyReport(Noun):
    """`remarks` need no action; any of `problems` means that the evidence is not what it was."""

    ledger: str
    segments: Count
    rows: Count
    samples: Count
    """Rows that have samples."""
    recomputed: Count = 0
    remarks: tuple[Finding, ...] = ()
    problems: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


class MergeReport(Noun):
    """Segments by what happened to them, in the order of their names."""

    destination: str
    copied: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
