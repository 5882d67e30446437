"""Budget and Rules: the numbers that decide, all in one place."""

from __future__ import annotations

from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Seconds

Level = Annotated[float, Field(gt=0, lt=1)]
Relative = Annotated[float, Field(ge=0, lt=1)]


class Budget(Noun):
    """Device time that a judgement may spend; docs/statistics.md says what each buys."""

    row_seconds: Seconds = 20.0
    """At most this for one row in one lane."""
    task_seconds: Seconds | None = None
    """At most this for all rows and lanes together."""

    def per_row(self, rows: int, lanes: int) -> float:
        """Seconds for one row in one lane of a task of that size."""
        if self.task_seconds is None:
            return self.row_seconds
        return min(self.row_seconds, self.task_seconds / (rows * lanes))


DEFAULT_BUDGET = Budget()
QUICK_BUDGET = Budget(task_seconds=60.0)


class Rules(Document):
    """How samples become a verdict. Stored with every verdict, so that it can be computed again."""

    SCHEMA = "assay.rules.1"

    alpha: Level = 0.05
    """Two-sided error of the interval over all looks together."""
    looks: Positive = 3
    relative_floor: Relative = 0.005
    """Differences below this are never called differences."""
    floor_quantile: Level = 0.975
    """Of |log ratio| of the baseline against itself in the same sitting."""
    absolute_ticks: Annotated[float, Field(gt=0, le=1000)] = 2.0
    """A difference must also be this many ticks of the clock, per batch."""
    widest_same: Relative = 0.03
    """A sitting whose floor is above this is too noisy to call anything the same by it."""
    equivalence: Relative = 0.03
    """When the budget is spent, an interval that holds 1 and lies within this is the same, if the
    baseline differed from itself by less. 0: never."""
    sign_alpha: Level = 0.05
    """The sign test over generations must agree with a FASTER or SLOWER at this level."""
    futility: Relative = 0.02
    """Stop when the chance that the rest of the budget decides is below this."""
    retakes: Count = 4
    """A disturbed reading is taken again at once, at most so often."""
    spare_readings: Annotated[float, Field(ge=0, le=4)] = 1.0
    """And at most so often in a generation, as a share of the readings planned for it."""
    most_dropped: Relative = 0.34
    """With a larger share of disturbed blocks the row is unclear."""
    slow_host: Relative = 0.2
    """A reading around which the host was slower than it usually is by more than this share is
    disturbed."""
    loss_bound: Annotated[float, Field(gt=0, le=1)] = 0.97
    """A row whose ratio's upper bound is below this is lost; promotion allows none."""
    generations: Positive = 24
    ab_blocks: Positive = 12
    aa_blocks: Positive = 7
    fewest_generations: Positive = 5
    """Five in a row of one sign is p = 0.031; four could never satisfy the sign test."""
    resamples: Annotated[int, Field(ge=100, le=100_000)] = 500
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 20261115
    """Of the bootstrap only; fixed, so that two readers get the same interval."""

    @model_validator(mode="after")
    def _looks_are_possible(self) -> Self:
        if self.fewest_generations < 2 or self.generations < self.fewest_generations:
            raise ValueError("at least 2 generations, and not fewer than fewest_generations")
        return self


DEFAULT_RULES = Rules()
