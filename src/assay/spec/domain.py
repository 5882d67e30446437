"""Domain: which calls a task promises to be right for, beyond its frozen rows."""

from __future__ import annotations

import enum
from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import StringConstraints
from pydantic import model_validator

from assay.spec.noun import Noun
from assay.spec.noun import Symbol
from assay.spec.workload import Extent


class Layout(enum.StrEnum):
    CONTIGUOUS = "contiguous"
    STRIDED = "strided"
    CHUNK = "chunk"
    """One of several equal parts of a wider last axis; strided, with rows whole rows apart."""
    BROADCAST = "broadcast"
    MISALIGNED = "misaligned"


# An axis of an argument: a name from the domain, a fixed extent, or `*name` for any number of axes.
AxisRef = (
    Annotated[str, StringConstraints(pattern=r"^\*?[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
    | Extent
)


class Axis(Noun):
    """The extents that one named axis may have."""

    low: Extent = 1
    high: Extent
    multiple_of: Annotated[int, Field(ge=1, le=2**40)] = 1
    choices: tuple[Extent, ...] | None = None

    @model_validator(mode="after")
    def _has_members(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.choices is not None:
            outside = [extent for extent in self.choices if not self._in_range(extent)]
            if outside or not self.choices:
                raise ValueError(f"choices {outside or 'are empty'}, outside the axis's own range")
        elif self.low + (-self.low) % self.multiple_of > self.high:
            raise ValueError(
                f"no multiple of {self.multiple_of} between {self.low} and {self.high}"
            )
        return self

    def _in_range(self, extent: int) -> bool:
        return self.low <= extent <= self.high and extent % self.multiple_of == 0

    def holds(self, extent: int) -> bool:
        return self._in_range(extent) and (self.choices is None or extent in self.choices)


class Domain(Noun):
    """Named axes and how tensors may lie in memory; hidden rows are drawn from here."""

    axes: dict[Symbol, Axis]
    layouts: tuple[Layout, ...] = (Layout.CONTIGUOUS,)
    divides: tuple[tuple[Symbol, Symbol], ...] = ()
    """Pairs (a, b): the extent or option a divides the extent b."""
    rank: tuple[Extent, Extent] = (0, 8)
    """How many axes a `*name` may stand for."""

    @model_validator(mode="after")
    def _rank_is_a_range(self) -> Self:
        if self.rank[0] > self.rank[1]:
            raise ValueError(f"rank {self.rank[0]} to {self.rank[1]} is empty")
        return self
