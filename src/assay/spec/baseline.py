"""Baseline: what a candidate is compared with; the real thing, pinned."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from pydantic import Field

from assay.spec.contract import Contract
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Sha256
from assay.spec.noun import Symbol
from assay.spec.noun import Version
from assay.spec.source import RelativePath
from assay.spec.source import SourceFile


class _Named(Noun):
    name: Name
    primary: bool = False
    """The one that ratios are given against."""


class LocalBaseline(_Named):
    """Sources of our own, in the task's folder."""

    kind: Literal["local"]
    path: RelativePath


class ReferenceBaseline(_Named):
    """The task's own reference, timed as it is; the weakest claim, and labelled so."""

    kind: Literal["reference"]


class Shim(Noun):
    """A small stand-in for a module that would drag in a whole server."""

    module: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=200)]
    reason: Sentence


class WheelBaseline(_Named):
    """Files out of a published wheel; the lock is committed, the files never are."""

    kind: Literal["wheel"]
    package: Name
    version: Version
    wheel_sha256: Sha256
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    entry: RelativePath
    functions: dict[Symbol, Symbol] = Field(default_factory=dict)
    """The task's function by the package's name for it, where they differ."""
    kernels: Annotated[tuple[Sentence, ...], Field(min_length=1)]
    """Kernels that it must be seen to launch; another path is a violation."""
    contract: Contract = Contract()
    requires: tuple[Sentence, ...] = ()
    shims: tuple[Shim, ...] = ()


Baseline = Annotated[LocalBaseline | ReferenceBaseline | WheelBaseline, Field(discriminator="kind")]
