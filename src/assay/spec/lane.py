"""Lane: what a number times. Every number names its lane."""

from __future__ import annotations

import enum

from pydantic import Field

from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Seconds


class Lane(enum.StrEnum):
    THROUGHPUT = "throughput"
    """Calls back to back over rotated buffers."""
    LATENCY = "latency"
    """One call, device idle before and after, fresh content."""
    GRAPH = "graph"
    """The same, captured once and replayed: device time without launches."""
    EVENTS = "events"
    """Events recorded inside the runner."""
    DEVICE = "device"
    """Kernel time as a profiler reports it."""

    @property
    def decides(self) -> bool:
        """Whether a verdict may rest on this lane; the others only explain."""
        return self in {Lane.THROUGHPUT, Lane.LATENCY, Lane.GRAPH}


class LaneTraits(Noun):
    """What one reading in a lane costs on a device, and how fine its clock is."""

    batch_seconds: float = Field(ge=0, le=60)
    """Least length of a timed batch; zero means a single call."""
    device_batch_seconds: float | None = Field(default=None, ge=0, le=60)
    """The same where the host does not pace the calls, if that is another."""
    warm_launches: Count
    """Untimed calls before each batch, at most."""
    warm_seconds: float | None = Field(default=None, ge=0, le=60)
    """Of calls so long that fewer of them take this time, fewer are made, though never under 3."""
    turn_seconds: float = Field(ge=0, le=60)
    """Device time that a change of turns costs beside the calls."""
    resolution: Seconds
    """One tick of the clock that closes a batch."""
    hidden_seconds: float = Field(default=0.0, ge=0, le=1)
    """Work that every single call of a batch could leave undone and not be seen."""
    most_launches: Positive = 1_000_000
