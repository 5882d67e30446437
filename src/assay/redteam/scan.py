"""A scan of sources: what a reader should look at. It reports and never decides.

Text can always be spelled another way, so nothing is refused because of what is found here, and
nothing is trusted because nothing was.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.redteam.scan_finding import Finding
from assay.redteam.scan_finding import FindingKind
from assay.redteam.scan_native import scan_native
from assay.redteam.scan_python import scan_python

__all__ = ["Finding", "FindingKind", "scan"]


def scan(sources: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """What is seen in a solution's sources, by path, in the order of files and lines."""
    found: list[Finding] = []
    for path, data in sources.items():
        text = data.decode(errors="replace")
        reader = scan_python if path.endswith(".py") else scan_native
        found += sorted(reader(path, text), key=lambda finding: (finding.line, finding.kind))
    return tuple(found)
