"""Append-only evidence: a folder of segments, one hash chain per writer."""

from __future__ import annotations

from assay.ledger.home import default_path
from assay.ledger.ledger import Ledger
from assay.ledger.merge import merge
from assay.ledger.query import QueryResult
from assay.ledger.query import query
from assay.ledger.report import Finding
from assay.ledger.report import MergeReport
from assay.ledger.report import VerifyReport
from assay.ledger.row import Entry
from assay.ledger.row import Row
from assay.ledger.row import SampleSpan
from assay.ledger.samples import Samples
from assay.ledger.segment import Segment
from assay.ledger.verify import Recompute
from assay.ledger.verify import verify
from assay.ledger.writer import Writer

__all__ = [
    "Entry",
    "Finding",
    "Ledger",
    "MergeReport",
    "QueryResult",
    "Recompute",
    "Row",
    "SampleSpan",
    "Samples",
    "Segment",
    "VerifyReport",
    "Writer",
    "default_path",
    "merge",
    "query",
    "verify",
]
