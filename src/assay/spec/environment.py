"""Environment and Provenance: what a number was measured with, and on what."""

from __future__ import annotations

from typing import Annotated
from typing import Any

from pydantic import Field
from pydantic import StringConstraints

from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Positive
from assay.spec.noun import Sentence
from assay.spec.noun import Sha256
from assay.spec.noun import TaskName
from assay.spec.noun import Version

Timestamp = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")
]


class Environment(Document):
    """The software and host that a process saw; the opening row of each ledger segment."""

    SCHEMA = "assay.environment.1"

    host: Name
    """A digest that tells hosts apart without naming them."""
    system: Sentence
    machine: Name
    processor: Sentence
    cores: Positive
    memory_bytes: Count
    python: Version
    assay: Version
    packages: dict[Name, Version] = Field(default_factory=dict)
    """Installed versions of what can move a number: torch, triton, numpy, CUDA libraries."""


class DeviceIdentity(Noun):
    """Which device, as the device itself says."""

    kind: Name
    name: Sentence
    index: Count = 0
    driver: Sentence | None = None
    memory_bytes: Count = 0
    cache_bytes: Count = 0


class Provenance(Document):
    """Everything a verdict depended on, by hash."""

    SCHEMA = "assay.provenance.1"

    created: Timestamp
    command: Sentence
    task: TaskName
    task_hash: Sha256
    baseline_hash: Sha256
    candidate_hash: Sha256
    harness_hash: Sha256
    """Of the package's own sources: a changed judge is another judge."""
    environment: Environment
    device: DeviceIdentity
    against: Sentence | None = None
    """What the candidate was compared with: `baseline` is the task's primary one, else a name or
    a folder; None where nobody said, as before there was such a key."""

    def content(self) -> dict[str, Any]:
        """Without the last key where it says nothing: evidence from before it stays what it was."""
        content = super().content()
        if self.against is None:
            del content["against"]
        return content
