"""Attack and Twin: a solution that cheats, and one that only looks as if it did."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from typing import Self

from pydantic import Field
from pydantic import model_validator

from assay.spec.defences import DEFENCE_NAMES
from assay.spec.noun import Document
from assay.spec.noun import Sentence
from assay.spec.solution import Language
from assay.spec.status import Status
from assay.spec.task import DeviceKind

STRUCTURAL = "structural"
"""In place of a switch: what the attack reaches for does not exist in the process it runs in."""


class AttackClass(enum.StrEnum):
    TIMING = "timing"
    CHANNEL = "channel"
    REPLAY = "replay"
    SEMANTIC = "semantic"
    FILTER = "filter"
    PROTOCOL = "protocol"


class Plain(enum.StrEnum):
    """What an attack does to the plain evaluator."""

    BEATEN = "beaten"
    OUT_OF_REACH = "out_of_reach"


Devices = Annotated[tuple[DeviceKind, ...], Field(min_length=1)]
Ends = Annotated[tuple[Status, ...], Field(min_length=1)]


class AttackFile(Document):
    """`attack.toml`, beside the solution.toml of a solution that cheats."""

    SCHEMA = "assay.attack.1"

    title: Sentence
    """What it does."""
    exploits: tuple[Annotated[int, Field(ge=1, le=999)], ...] = ()
    """Numbers in the catalogue of exploits seen elsewhere; none for an attack on our protocol."""
    seen: Sentence
    """Where it was seen."""
    devices: Devices
    """Where this solution can run."""
    plain: Plain
    plain_reason: Annotated[str, Field(max_length=2000)] = ""
    """Why the plain evaluator has nothing that this could attack."""
    ends: Ends
    """How a judgement of it may end."""
    stopped_by: Sentence
    defence: Sentence
    """The check whose absence lets it through, or structural."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.plain is Plain.OUT_OF_REACH) != bool(self.plain_reason):
            raise ValueError("plain_reason goes with out_of_reach, and with nothing else")
        if Status.FASTER in self.ends:
            raise ValueError("no attack may end as faster")
        if self.defence != STRUCTURAL and self.defence not in DEFENCE_NAMES:
            known = ", ".join((*DEFENCE_NAMES, STRUCTURAL))
            raise ValueError(f"defence is none of {known}")
        return self


class TwinFile(Document):
    """`twin.toml`, beside the solution.toml of an honest solution that looks suspicious."""

    SCHEMA = "assay.twin.1"

    title: Sentence
    devices: Devices
    looks_like: Sentence
    """The attack that it resembles, or what a reader may suspect."""
    ends: Ends
    """How a judgement of it may end."""

    @model_validator(mode="after")
    def _is_right(self) -> Self:
        for status in self.ends:
            if not status.is_timed:
                raise ValueError(f"an honest twin may not end as {status}")
        return self


@dataclass(frozen=True)
class Attack:
    """A shipped attack: its class, its folder, and what its file says."""

    kind: AttackClass
    folder: Path
    file: AttackFile
    language: Language

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class Twin:
    """A shipped honest twin."""

    folder: Path
    file: TwinFile
    language: Language

    @property
    def name(self) -> str:
        return self.folder.name
