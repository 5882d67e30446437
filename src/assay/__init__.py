"""Assay: evidence-first GPU-kernel optimization."""

__version__ = "0.1.0"
