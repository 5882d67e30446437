"""Defences as the judge takes them; they are defined where devices can see them too."""

from __future__ import annotations

from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.defences import Defences

__all__ = ["ALL_DEFENCES", "DEFENCE_NAMES", "Defences"]
