"""Sample: one reading of the clock, and where in the plan it stood."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Annotated
from typing import Any

from pydantic import Field

from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Positive


class Side(enum.StrEnum):
    BASELINE = "baseline"
    ECHO = "echo"
    """The baseline once more, in a process of its own: A/A in the same sitting."""
    CANDIDATE = "candidate"
    TWIN = "twin"
    """The copy twin; never in a block."""


class Pair(enum.StrEnum):
    AB = "ab"
    """A baseline process against the candidate."""
    AA = "aa"
    """The two baseline processes against each other."""


class Disturbance(enum.StrEnum):
    THROTTLED = "throttled"
    FOREIGN_WORK = "foreign_work"
    CLOCK_STEP = "clock_step"


class Sample(Noun):
    """One timed batch. Four with the same generation and block form an ABBA or BAAB block; where a
    reading was taken again at its position, the last one counts."""

    generation: Count
    """Which set of processes; the unit that is resampled first."""
    block: Count
    position: Annotated[int, Field(ge=0, le=3)]
    pair: Pair
    side: Side
    launches: Positive
    nanoseconds: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    """As the clock gave it, even if a stepping clock gave nonsense; a rule drops it, not a hand."""
    disturbances: tuple[Disturbance, ...] = ()
    clock_mhz: Positive | None = None


_COLUMNS = tuple(Sample.model_fields)


def to_columns(samples: Iterable[Sample]) -> dict[str, list[Any]]:
    """The samples as columns, the way they lie beside the ledger; clock 0 means not known."""
    contents = [sample.content() for sample in samples]
    columns = {name: [content[name] for content in contents] for name in _COLUMNS}
    columns["disturbances"] = ["+".join(names) for names in columns["disturbances"]]
    columns["clock_mhz"] = [clock or 0 for clock in columns["clock_mhz"]]
    return columns


def from_columns(columns: dict[str, list[Any]]) -> tuple[Sample, ...]:
    """The inverse of to_columns; raises ValueError for columns that are no samples."""
    if set(columns) != set(_COLUMNS):
        raise ValueError(f"columns are {sorted(columns)}")
    rows = zip(*(columns[name] for name in _COLUMNS), strict=True)
    return tuple(_sample(dict(zip(_COLUMNS, row, strict=True))) for row in rows)


def _sample(content: dict[str, Any]) -> Sample:
    names = [name for name in content["disturbances"].split("+") if name]
    return Sample.model_validate(
        {
            **content,
            "pair": Pair(content["pair"]),
            "side": Side(content["side"]),
            "disturbances": tuple(Disturbance(name) for name in names),
            "clock_mhz": content["clock_mhz"] or None,
        }
    )
