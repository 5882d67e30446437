"""Contract and Tolerance: how a call is made, and how far its answer may be off."""

from __future__ import annotations

import enum
from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.noun import Noun
from assay.spec.noun import Sentence


class Convention(enum.StrEnum):
    """How outputs come back; anything but destination passing is labelled in every number."""

    DESTINATION = "destination"
    IN_PLACE = "in_place"
    RETURNS = "returns"


class StreamRule(enum.StrEnum):
    CURRENT = "current"
    """All work is ordered with the caller's current stream."""
    DEFAULT = "default"
    """Work is only promised on the default stream."""


class Contract(Noun):
    """What the caller promises; a baseline called otherwise may silently take another path."""

    gradients: bool = False
    stream: StreamRule = StreamRule.CURRENT
    contiguous: bool = False
    """Whether callers only ever pass contiguous tensors."""
    deterministic: bool = True
    """Whether two calls on equal inputs must give equal bits."""
    prepare: bool = False
    """Whether a solution may pack weights or build plans once, before it is called."""


class Tolerance(Noun):
    """Limits on the error against the fp64 truth, relative to the baseline's own error.

    A looser limit than the default needs a reason: field practice of 5e-2 lets a wrong eps pass.
    """

    maximum_factor: Annotated[float, Field(ge=1, le=1000)] = 2.0
    """Largest error allowed, in multiples of the baseline's largest error."""
    maximum_ulps: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Largest error always allowed, in units of the output's last place."""
    rms_factor: Annotated[float, Field(ge=1, le=1000)] = 1.25
    """Root-mean-square error allowed, in multiples of the baseline's."""
    exact: bool = False
    """Bit for bit equal to the baseline; for copies, casts and integer work."""
    reason: Sentence | None = None

    @model_validator(mode="after")
    def _loose_needs_reason(self) -> Self:
        loose = self.maximum_factor > 2 or self.maximum_ulps > 1 or self.rms_factor > 1.25
        if loose and self.reason is None:
            raise ValueError("limits looser than the default need a reason")
        return self
