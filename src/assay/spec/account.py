"""DeviceAccount: what a profiler inside the candidate's own process saw on the device.

It is collected where the candidate can change it. So it may convict, and never acquits: an account
without a kernel means that nothing was seen, not that nothing ran.
"""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import Field

from assay.spec.noun import Count
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Sentence
from assay.spec.noun import Symbol
from assay.spec.noun import Version

Amount = Annotated[float, Field(ge=0, le=1e13)]
Share = Annotated[float, Field(ge=0, le=1)]


class Origin(enum.StrEnum):
    OWN = "own"
    """A kernel that the candidate's sources define, or that no known library has."""
    LIBRARY = "library"
    """A kernel of torch, of what torch generates, or of a vendor's library."""
    COPY = "copy"
    """A copy or a fill that the driver makes."""


class Place(enum.StrEnum):
    INSIDE = "inside"
    """Launched in a call, and done when the call was."""
    LATE = "late"
    """Launched in a call, and still running after it."""
    OUTSIDE = "outside"
    """Launched, or seen to run, when there was no call."""


class KernelUse(Noun):
    """All launches of one kernel in one place."""

    name: Sentence
    origin: Origin
    place: Place
    launches_a_call: Amount
    us_a_call: Amount


class RowAccount(Noun):
    """Some calls of one row, one by one, with the device idle before and after each."""

    row: Name
    calls: Positive
    kernels: tuple[KernelUse, ...] = ()
    unseen: Sentence | None = None
    """Why there is no account of this row."""
    busy_us: Amount = 0.0
    """How long at least one of them ran, over all calls, as the profiler says."""
    request_us: Amount = 0.0
    """The whole request by the referee's clock, the profiler's own work included: no account may
    state more than this."""
    launched_elsewhere: Count = 0
    """Launches inside a call by another thread than the one that made the call."""

    @property
    def device_us(self) -> float:
        """Of one call."""
        return sum(used.us_a_call for used in self.kernels)

    def us_of(self, origin: Origin) -> float:
        return sum(used.us_a_call for used in self.kernels if used.origin is origin)


class DeviceAccount(Noun):
    """All rows that were looked at."""

    rows: tuple[RowAccount, ...]
    own_share: Share | None = None
    """Of the device time of one call of each row, what the candidate's own kernels take; None
    where nothing was seen."""
    library_kernels: tuple[Sentence, ...] = ()


class PinnedModule(Noun):
    """A module of a pinned package that was loaded."""

    name: Sentence
    path: Sentence | None = None
    """In the snapshot; None for a namespace, which is no file."""


class PinnedRow(Noun):
    """What was seen of some calls of one row."""

    row: Name
    function: Symbol
    kernels: tuple[Sentence, ...] = ()
    """On a cpu the operators of torch."""
    unseen: Sentence | None = None
    """Why nothing was."""


class Authenticity(Noun):
    """What shows that a side that is pinned by a lock was the real one."""

    side: Name
    package: Name
    version: Version
    modules: tuple[PinnedModule, ...] = ()
    rows: tuple[PinnedRow, ...] = ()
