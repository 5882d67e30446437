"""Names: foreign ones made into ours, each still told from the others."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

_LONGEST_SYMBOL = 60


def symbol(text: str, taken: Iterable[str] = ()) -> str:
    """A Python name that says the same and is not taken.

    >>> symbol("layers.0.weight")
    'layers_0_weight'
    >>> symbol("3x", {"_3x"})
    '_3x_2'
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"
    if plain[0].isdigit() or keyword.iskeyword(plain):
        plain = f"_{plain}"
    # The end of a long name tells more: `weight` or `bias`.
    plain = plain if len(plain) <= _LONGEST_SYMBOL - 4 else f"_{plain[-(_LONGEST_SYMBOL - 5) :]}"
    return _untaken(plain, "_", taken)


def name(text: str, taken: Iterable[str] = ()) -> str:
    """A name for a row, a task or a solution: no blanks, nothing that needs quoting."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip("_.-")[:110] or "unnamed"
    return _untaken(plain, "-", taken)


def sentence(text: str, fallback: str) -> str:
    """One line of printable text, bounded."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain[:300] or fallback


def one_line(text: object) -> str:
    """Foreign words that may be printed: no control characters, longer than quote() has them."""
    return "".join(c if c.isprintable() else " " for c in str(text))[:400]


def _untaken(plain: str, join: str, taken: Iterable[str]) -> str:
    known = set(taken)
    if plain not in known:
        return plain
    return next(
        f"{plain}{join}{n}" for n in range(2, len(known) + 3) if f"{plain}{join}{n}" not in known
    )
