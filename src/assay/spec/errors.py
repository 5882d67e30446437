"""The tree of errors a user can meet.

Each one says what was wrong, where, and what to do next, in one line. `assay.cli` is the only
place that turns them into an exit status; nothing else in the package catches broadly.
"""

from __future__ import annotations

import enum


class ExitStatus(enum.IntEnum):
    """What a verb's exit status means, the same for all verbs."""

    YES = 0
    NO = 1
    CANNOT_TELL = 2
    MISUSE = 64
    UNAVAILABLE = 69
    INTERNAL = 70
    INPUT_OUTPUT = 74
    INTERRUPTED = 130


_LONGEST_QUOTE = 120


def quote(text: object) -> str:
    """Foreign text made safe for one terminal line: no control characters, bounded length.

    >>> quote("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\\\n'
    """
    shown = "".join(_printable(character) for character in str(text)[: _LONGEST_QUOTE + 1])
    return shown if len(shown) <= _LONGEST_QUOTE else shown[: _LONGEST_QUOTE - 1] + "…"


def _printable(character: str) -> str:
    # Not printable are terminal escapes, direction overrides, lone surrogates and line breaks.
    return character if character.isprintable() else ascii(character)[1:-1]


class AssayError(Exception):
    """Base of all errors that are ours; `str()` of it is the one line that a user reads."""

    exit_status = ExitStatus.INTERNAL

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what, where, next_step)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.insert(0, f"{self.where}:")
        if self.next_step:
            parts.append(f"({self.next_step})")
        return " ".join(parts)


class UsageError(AssayError):
    """The command or call asks for something that does not make sense."""

    exit_status = ExitStatus.MISUSE


class DocumentError(UsageError):
    """A file that was read does not say what it must: syntax, key, type or range."""


class UnavailableError(AssayError):
    """Something this host lacks: an extra, a tool, a device, a permission."""

    exit_status = ExitStatus.UNAVAILABLE


class StorageError(AssayError):
    """The file system said no: full, read-only, gone, locked."""

    exit_status = ExitStatus.INPUT_OUTPUT


class EvidenceError(AssayError):
    """Evidence that contradicts itself: a changed byte, a broken chain, a fork."""

    exit_status = ExitStatus.NO
