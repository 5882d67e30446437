"""Baseline: what a candidate is compared with; the real thing, pinned."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from pydantic import Field

from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.source import RelativePath


class _Named(Noun):
    name: Name
    primary: bool = False
    """The one that ratios are given against."""


class LocalBaseline(_Named):
    """Sources of our own, in the task's folder."""

    kind: Literal["local"]
    path: RelativePath


class ReferenceBaseline(_Named):
    """The task's own reference, timed as it is; the weakest claim, and labelled so."""

    kind: Literal["reference"]


class WheelBaseline(_Named):
    """Files out of a published wheel: a folder with a `baseline.lock` and an adapter of ours."""

    kind: Literal["wheel"]
    path: RelativePath


Baseline = Annotated[LocalBaseline | ReferenceBaseline | WheelBaseline, Field(discriminator="kind")]
