"""Licences: whether a wheel's metadata names one that lets whoever holds the wheel pass it on."""

from __future__ import annotations

import re
from email.message import Message

from assay.spec.errors import quote

UNNAMED = "no licence named"
_CLASSIFIER = "License :: "
_APPROVED = "License :: OSI Approved"
# Names that wheels give in `License-Expression` and `License`, in lower case. Open-source licences
# that are not here make a pack more careful than it has to be, and nothing else.
_OPEN = frozenset(
    {
        "0bsd",
        "apache",
        "apache-2.0",
        "apache-software",
        "apache-software-2.0",
        "artistic-2.0",
        "bsd",
        "bsd-2-clause",
        "bsd-3-clause",
        "bsl-1.0",
        "isc",
        "lgpl-2.1-or-later",
        "lgpl-3.0-or-later",
        "mit",
        "mit-0",
        "mpl-2.0",
        "ncsa",
        "psf",
        "psf-2.0",
        "python-2.0",
        "unlicense",
        "zlib",
    }
)
_OTHER_WORDS = re.compile(r"\b(the|licen[cs]e[ds]?|version)\b|[,\"()]", re.IGNORECASE)
_EXCEPTION = re.compile(r"\s+WITH\s+\S+", re.IGNORECASE)


def restriction(metadata: Message) -> str | None:
    """The licence, where it is none of the open-source ones; None where it is one."""
    classifiers = [
        text
        for text in map(str, metadata.get_all("Classifier", []))
        if text.startswith(_CLASSIFIER)
    ]
    if any(text.startswith(_APPROVED) for text in classifiers):
        return None
    named = str(metadata.get("License-Expression") or metadata.get("License") or "").strip()
    if named and _is_open(named):
        return None
    shown = [named.splitlines()[0]] if named else [text.split(" :: ")[-1] for text in classifiers]
    return quote(", ".join(shown)) or UNNAMED


def _is_open(expression: str) -> bool:
    """Whether one of the licences to choose from is open, with all that come together with it."""
    bare = _EXCEPTION.sub("", _OTHER_WORDS.sub(" ", expression))
    choices = re.split(r"\s+or\s+", bare, flags=re.IGNORECASE)
    return any(
        all(_known(name) for name in re.split(r"\s+and\s+", choice, flags=re.IGNORECASE))
        for choice in choices
    )


def _known(name: str) -> bool:
    return "-".join(name.lower().split()) in _OPEN
