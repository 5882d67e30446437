"""The command line: one module per verb; parse, call, print."""

from __future__ import annotations

from assay.cli._edge import main

__all__ = ["main"]
