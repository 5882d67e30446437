"""Workloads: the frozen rows of a task."""

from __future__ import annotations

import math
from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.dtype import DType
from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Symbol

Extent = Annotated[int, Field(ge=0, le=2**40)]
Text = Annotated[str, Field(max_length=200)]
Finite = Annotated[float, Field(ge=-1e300, le=1e300)]
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Scalar = bool | Integer | Finite | Text

_MOST_ELEMENTS = 2**40
_HIGHEST_RANK = 8


class TensorSpec(Noun):
    """One tensor of a row; strides and offset in elements, as torch counts them."""

    shape: Annotated[tuple[Extent, ...], Field(max_length=_HIGHEST_RANK)]
    dtype: DType
    strides: Annotated[tuple[Extent, ...], Field(max_length=_HIGHEST_RANK)] | None = None
    """None means contiguous. Stride 0 is a broadcast axis."""
    offset: Extent = 0
    """Elements between the start of the storage and the first element: how misalignment is said."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise ValueError(f"{len(self.strides)} strides for {len(self.shape)} axes")
        if math.prod(self.shape) > _MOST_ELEMENTS or self.storage_elements > _MOST_ELEMENTS:
            raise ValueError(f"more than {_MOST_ELEMENTS} elements")
        return self

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.itemsize

    @property
    def contiguous_strides(self) -> tuple[int, ...]:
        strides: list[int] = []
        step = 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= max(extent, 1)
        return tuple(reversed(strides))

    @property
    def storage_elements(self) -> int:
        """Elements of storage from its start to the last element that is touched."""
        if self.elements == 0:
            return self.offset
        steps = self.strides or self.contiguous_strides
        reach = sum((n - 1) * step for n, step in zip(self.shape, steps, strict=True))
        return self.offset + reach + 1


class Row(Noun):
    """One frozen call: what a model passed to the kernel, and how often."""

    id: Name
    function: Symbol
    tensors: dict[Symbol, TensorSpec | None]
    """By argument name; None where an optional tensor was not passed."""
    options: dict[Symbol, Scalar] = Field(default_factory=dict)
    models: tuple[Name, ...] = ()
    seen_on: tuple[Name, ...] = ()
    calls: Count | None = None
    """Calls in one run of the source model, where that was counted."""
    headline: bool = True
    """Whether the row counts in the task's geomean."""
    note: Sentence | None = None


class Workloads(Document):
    """`workloads.json`: the rows of one task, and where they were captured."""

    SCHEMA = "assay.workloads.1"

    source: tuple[Sentence, ...] = ()
    rows: Annotated[tuple[Row, ...], Field(min_length=1, max_length=10_000)]

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        seen: set[str] = set()
        for row in self.rows:
            if row.id in seen:
                raise ValueError(f"two rows are called {row.id}")
            seen.add(row.id)
        return self
