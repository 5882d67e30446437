"""Solution: one implementation of a task, with the search space it declares."""

from __future__ import annotations

import enum
from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.contract import Convention
from assay.spec.lock import LOCK_FILE
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Symbol
from assay.spec.source import RelativePath
from assay.spec.source import SourceFile
from assay.spec.workload import Scalar


class Language(enum.StrEnum):
    TORCH = "torch"
    TRITON = "triton"
    CPP = "cpp"
    CUDA = "cuda"


class LanguagePreference(enum.StrEnum):
    """What the user asked for; anything but ANY is enforced."""

    ANY = "any"
    TRITON = "triton"
    CUDA = "cuda"
    CPP = "cpp"

    def allows(self, language: Language) -> bool:
        return self is LanguagePreference.ANY or self.value == language.value


class Solution(Document):
    """`solution.toml`."""

    SCHEMA = "assay.solution.1"

    name: Name
    language: Language
    sources: Annotated[tuple[RelativePath, ...], Field(min_length=1, max_length=200)]
    entry: RelativePath
    """The source that is loaded; it defines the task's functions by name."""
    convention: Convention = Convention.DESTINATION
    prepare: Symbol | None = None
    """A function called once per row before the clock starts; its time is reported apart."""
    flags: tuple[Sentence, ...] = ()
    """Compiler flags beyond the task's; the baseline is given the same."""
    search: dict[Symbol, Annotated[tuple[Scalar, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """The declared search space: each parameter with the values that it may take."""
    config: dict[Symbol, Scalar] = Field(default_factory=dict)
    """The point of the search space that is judged; frozen before timing."""
    note: Sentence | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.entry not in self.sources:
            raise ValueError(f"entry {self.entry} is not among the sources")
        if len(set(self.sources)) != len(self.sources):
            raise ValueError("a source is named twice")
        for parameter, value in self.config.items():
            # 1 == True in Python; a config of True must not pass for a declared 1.
            declared = [(type(choice), choice) for choice in self.search.get(parameter, ())]
            if (type(value), value) not in declared:
                raise ValueError(f"config {parameter}={value} is outside the declared search space")
        return self


class SealedSolution(Noun):
    """A solution bound to the bytes of its sources; its hash is what evidence refers to."""

    solution: Solution
    files: tuple[SourceFile, ...]
    """Its sources in order and, of a baseline out of a wheel, the lock: the hashes in there bind
    every file of the wheel and every shim."""

    @model_validator(mode="after")
    def _covers_sources(self) -> Self:
        paths = tuple(file.path for file in self.files)
        if paths not in (self.solution.sources, (*self.solution.sources, LOCK_FILE)):
            raise ValueError("the sealed files are not the solution's sources, in order")
        return self
