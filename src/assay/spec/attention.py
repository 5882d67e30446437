"""Finding: one thing about a candidate that a reader should look at. It decides nothing."""

from __future__ import annotations

import enum

from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Sentence


class FindingKind(enum.StrEnum):
    IMPORT = "import"
    """A module or call that no kernel needs: the evaluator's, processes, frames, the network."""
    OBFUSCATION = "obfuscation"
    """Code that is made at run time, from data that cannot be read."""
    OPAQUE_LITERAL = "opaque_literal"
    """A long string or list of bytes that says nothing to a reader."""
    VENDOR_LIBRARY = "vendor_library"
    """Somebody else's finished kernel."""
    NATIVE_LOADING = "native_loading"
    """A library or symbol that is looked up by name at run time."""
    BUILT_NAME = "built_name"
    """A name put together from pieces, or spelled in letters of another alphabet."""
    REVIEWER = "reviewer"
    """Words that speak to whoever reviews the source."""
    LOADED_LIBRARY = "loaded_library"
    """A library in the candidate's process that the baseline's has not."""


class Finding(Noun):
    """What was seen, and where."""

    file: Sentence
    """A source of the solution, or the name of a library without its folder."""
    line: Positive | None = None
    """None for a library, and for a text that has no lines."""
    kind: FindingKind
    what: Sentence

    def __str__(self) -> str:
        if self.kind is FindingKind.LOADED_LIBRARY:
            return self.what
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.kind.replace('_', ' ')}: {self.what}"
