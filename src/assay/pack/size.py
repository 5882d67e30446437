"""Sizes: how much each part of a pack takes, and the limit that all of it keeps to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence

from assay.pack.entry import Entry
from assay.pack.manifest import Part
from assay.spec.errors import UsageError
from assay.spec.errors import quote

DEFAULT_MOST_BYTES = 64 << 20

_MOST_NAMES = 3


def measure(entries: Iterable[Entry]) -> tuple[Part, ...]:
    """The parts of a pack, the largest first."""
    sizes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for entry in entries:
        sizes[entry.part] += entry.size
        files[entry.part] += 1
    parts = (Part(name=name, files=files[name], bytes=sizes[name]) for name in files)
    return tuple(sorted(parts, key=lambda part: (-part.bytes, part.name)))


def check_size(parts: Sequence[Part], most_bytes: int) -> None:
    """UsageError, with what takes the most, for parts that are too much together."""
    total = sum(part.bytes for part in parts)
    if total > most_bytes:
        largest = ", ".join(f"{quote(p.name)} {mebibytes(p.bytes)}" for p in parts[:_MOST_NAMES])
        raise UsageError(
            f"{mebibytes(total)} are over the limit of {mebibytes(most_bytes)}; "
            f"the most is taken by {largest}",
            next_step="leave to the host what it has with --assume NAME, or raise --most",
        )


def mebibytes(count: int) -> str:
    """
    >>> mebibytes(3 << 19)
    '1.50 MiB'
    """
    return f"{count / 2**20:.2f} MiB"
