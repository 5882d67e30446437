"""Ablation: which kernels of a candidate its answers do without."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Sentence


class Decoy(Noun):
    """A kernel that is launched, or a function that is called, and without which every answer
    is still right."""

    kernel: Sentence
    where: Sentence
    """File and line of each launch or call."""

    @property
    def label(self) -> str:
        return f"decoy kernel: {self.kernel}"


class Ablation(Noun):
    """What was tried, and what it cost."""

    kernels: Count
    """Found in the sources: what is launched, and functions that are called and that write."""
    tried: Count
    """Of these, so many were left out, one at a time."""
    needed: Count = 0
    """Without them an answer was wrong, or none came."""
    not_reached: Count = 0
    """No question of the exam leads there: nothing is known."""
    not_built: Count = 0
    """Without them the sources do not compile: nothing is known."""
    decoys: tuple[Decoy, ...] = ()
    seconds: Annotated[float, Field(ge=0, le=1e7)] = 0.0
    """Builds and exams of all variants, by the host's clock."""
