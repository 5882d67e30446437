"""RowVerdict and TaskVerdict. A ratio is baseline time over candidate time: above 1 is faster."""

from __future__ import annotations

from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.ablation import Ablation
from assay.spec.account import Authenticity
from assay.spec.account import DeviceAccount
from assay.spec.attention import Finding
from assay.spec.lane import Lane
from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Microseconds
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Ratio
from assay.spec.noun import Sentence
from assay.spec.noun import TaskName
from assay.spec.status import Status
from assay.spec.status import ViolationKind

Probability = Annotated[float, Field(ge=0, le=1)]
Interval = tuple[Ratio, Ratio]


class WrongValue(Noun):
    """Where an answer first went wrong, and the line that shows it again."""

    row: Name
    distribution: Name
    output: Name
    first_bad_index: tuple[Count, ...]
    expected: Sentence
    """As `repr` prints it, so that nan, inf and every digit survive."""
    got: Sentence
    wrong_elements: Positive
    elements: Positive
    reproduce: Sentence


class Measurement(Noun):
    """What the samples of one row in one lane say, before any rule."""

    ratio: Ratio
    interval: Interval
    floor: Annotated[float, Field(ge=0, le=10)]
    """Relative difference below which nothing is called a difference; 0.005 is half a percent."""
    baseline_us: Microseconds
    candidate_us: Microseconds
    generations: Positive
    blocks: Positive
    dropped_blocks: Count = 0
    retaken: Count = 0
    """Disturbed readings that were taken again."""
    looks: Positive = 1
    sign_test_p: Probability
    echo_ratio: Ratio
    """The same estimate for the baseline against itself."""


class RowVerdict(Noun):
    """One row in one lane."""

    row: Name
    lane: Lane
    status: Status
    ratio: Ratio | None = None
    interval: Interval | None = None
    baseline_us: Microseconds | None = None
    candidate_us: Microseconds | None = None
    twin_us: Microseconds | None = None
    """The copy twin: a plain kernel that moves the same bytes, in the same lane and sitting."""
    measurement: Measurement | None = None
    reason: Sentence | None = None
    violation: ViolationKind | None = None
    wrong: WrongValue | None = None

    @model_validator(mode="after")
    def _carries_what_its_status_needs(self) -> Self:
        if (self.status is Status.VIOLATION) != (self.violation is not None):
            raise ValueError("a violation carries its kind, and nothing else does")
        if (self.status is Status.WRONG_VALUE) != (self.wrong is not None):
            raise ValueError("a wrong value carries where it is wrong, and nothing else does")
        if self.status in {Status.FASTER, Status.SLOWER, Status.SAME} and self.measurement is None:
            raise ValueError(f"{self.status} without a measurement")
        if self.status is Status.UNCLEAR and self.reason is None:
            raise ValueError("unclear needs a reason")
        if self.interval is not None and self.interval[0] > self.interval[1]:
            raise ValueError("the interval's ends are swapped")
        return self


class Worst(Noun):
    row: Name
    lane: Lane
    ratio: Ratio


class TaskVerdict(Document):
    """All rows together."""

    SCHEMA = "assay.verdict.1"

    task: TaskName
    verdict: Status
    geomean: Ratio | None = None
    interval: Interval | None = None
    worst: Worst | None = None
    rows: tuple[RowVerdict, ...]
    wins: Count = 0
    ties: Count = 0
    losses: Count = 0
    unclear: Count = 0
    call_weighted: Ratio | None = None
    """Each row counted as often as its model calls it; None where calls were not captured."""
    time_weighted: Ratio | None = None
    """Total baseline time over total candidate time: what a run of these calls would gain."""
    labels: tuple[Sentence, ...] = ()
    """What weakens the claim: unadmitted task, weaker sandbox, returned instead of written."""
    reason: Sentence | None = None
    attention: tuple[Finding, ...] = ()
    """What a reader should look at in the candidate; no part of the verdict."""
    account: DeviceAccount | None = None
    """What a profiler in the candidate's process saw: it may convict, and never acquits."""
    ablation: Ablation | None = None
    """Which of the candidate's kernels its answers do without."""
    authenticity: tuple[Authenticity, ...] = ()
    """Of each side that is pinned by a lock."""
