"""A scan of sources: what a reader should look at. It reports and never decides.

Text can always be spelled another way, so nothing is refused because of what is found here, and
nothing is trusted because nothing was.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from assay.judge.scan_native import scan_native
from assay.judge.scan_python import scan_python
from assay.judge.scan_text import seen
from assay.spec.attention import Finding
from assay.spec.attention import FindingKind

MOST_BYTES = 2**20
"""Of all sources together. No kernel is that long, and a scan must not outlast a judgement."""


def scan(sources: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """What is seen in a solution's sources, in the order of files and lines; a thing that is seen
    on many lines of a file stands there once, with the first of them."""
    found: dict[tuple[str, FindingKind, str], Finding] = {}
    left = MOST_BYTES
    for path, data in sources.items():
        left -= len(data)
        for finding in sorted(_read(path, data, fits=left >= 0), key=_place):
            found.setdefault((finding.file, finding.kind, finding.what), finding)
    return tuple(found.values())


def _read(path: str, data: bytes, *, fits: bool) -> Iterator[Finding]:
    if not fits:
        what = f"not read: the sources are more than {MOST_BYTES} bytes"
        yield seen(FindingKind.OBFUSCATION, path, 1, what)
        return
    reader = scan_python if path.endswith(".py") else scan_native
    yield from reader(path, data.decode(errors="replace"))


def _place(finding: Finding) -> tuple[int, str]:
    return finding.line or 0, finding.kind
