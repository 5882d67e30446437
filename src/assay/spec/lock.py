"""BaselineLock: which files of a published wheel a baseline is made of, and how it is called."""

from __future__ import annotations

from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import StringConstraints
from pydantic import model_validator

from assay.spec.contract import Contract
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Sha256
from assay.spec.noun import Symbol
from assay.spec.noun import Version
from assay.spec.noun import canonical_json
from assay.spec.noun import sha256_hex
from assay.spec.source import SourceFile

LOCK_FILE = "baseline.lock"
SNAPSHOT = "snapshot"
"""Beside the lock: the wheel's files at their own paths. Never committed."""
SHIMS = "shims"
CACHE_PLACE = "{cache}"
"""In the value of a variable: the folder that a runner's compilers may write to."""

_WORKED_OUT = (
    *("package", "version", "wheel", "wheel_sha256", "files"),
    *("requires", "optional", "also", "needs", "provides"),
)

Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
EntryPoint = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$", max_length=240)
]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=80)]


class Shim(Noun):
    """A small stand-in of ours for a module that would drag in a whole server."""

    module: Module
    file: SourceFile
    """Below `shims`, at the path that the module has in its package."""
    reason: Sentence
    replaces: Sha256 | None = None
    """The hash of the module that it stands for: a refresh says when that one changed."""


class LockedEntry(Noun):
    """What stands behind one function of the task."""

    entry: EntryPoint
    kernels: tuple[Sentence, ...] = ()
    """Names that a profile must show, `*` for any characters; none: nobody has looked yet."""
    dtypes: tuple[DType, ...] = ()
    """Of its first tensor: with another the entry may take another path; none: with any."""
    layouts: tuple[Layout, ...] = ()
    """The same of how its tensors lie."""


class BaselineLock(Document):
    """`baseline.lock`; committed, while the files that it names never are."""

    SCHEMA = "assay.lock.1"

    package: Name
    version: Version
    wheel: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.+!-]+\.whl$", max_length=240)]
    wheel_sha256: Sha256
    entries: Annotated[dict[Symbol, LockedEntry], Field(min_length=1)]
    """By function of the task."""
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1, max_length=5000)]
    shims: tuple[Shim, ...] = ()
    requires: tuple[Sentence, ...] = ()
    """Distributions of others that the files import, as the wheel's own metadata asks for them."""
    optional: tuple[Sentence, ...] = ()
    """Those that are imported in functions alone, or where a failure is caught."""
    also: tuple[Sentence, ...] = ()
    """Modules and files of the wheel that no import names."""
    needs: tuple[Name, ...] = ()
    """Those of `requires` that a call needs, as whoever made the lock says."""
    provides: dict[Module, Name] = Field(default_factory=dict)
    """Who brings a module of others, where neither its name nor the metadata tells."""
    environment: dict[Variable, Sentence] = Field(default_factory=dict)
    contract: Contract = Contract()
    note: Sentence | None = None
    seal: Sha256 | None = None
    """Hash of what was worked out from the wheel; kernels, dtypes, layouts, reasons, environment,
    contract and note are not: those are for people to write."""

    @property
    def worked_out(self) -> str:
        """The hash that the seal of a lock must be: an edit by hand gives another."""
        content = self.content()
        parts = {key: content[key] for key in _WORKED_OUT}
        parts["entries"] = {name: entry.entry for name, entry in self.entries.items()}
        parts["shims"] = [[shim.module, shim.file.content(), shim.replaces] for shim in self.shims]
        return sha256_hex(canonical_json(parts))

    def sealed(self) -> Self:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, "seal": self.worked_out})

    def canonical(self) -> bytes:
        """Its bytes as evidence hashes them: how the file is laid out does not matter."""
        return canonical_json(self.content())

    @model_validator(mode="after")
    def _paths_differ(self) -> Self:
        paths = [file.path for file in self.files] + [shim.file.path for shim in self.shims]
        if len(set(paths)) != len(paths):
            raise ValueError("a path is named twice; a shim stands in place of a file")
        return self
