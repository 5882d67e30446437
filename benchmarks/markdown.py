"""A table of figures in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """All columns but the first stand to the right."""
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"
