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
from assay.spec.source import SourceFile

LOCK_FILE = "baseline.lock"
SNAPSHOT = "snapshot"
"""Beside the lock: the wheel's files at their own paths. Never committed."""
SHIMS = "shims"
CACHE_PLACE = "{cache}"
"""In the value of a variable: the folder that a runner's compilers may write to."""

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
    environment: dict[Variable, Sentence] = Field(default_factory=dict)
    contract: Contract = Contract()
    note: Sentence | None = None

    @model_validator(mode="after")
    def _paths_differ(self) -> Self:
        paths = [file.path for file in self.files] + [shim.file.path for shim in self.shims]
        if len(set(paths)) != len(paths):
            raise ValueError("a path is named twice; a shim stands in place of a file")
        return self
