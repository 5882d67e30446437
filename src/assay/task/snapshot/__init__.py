"""Snapshots: the files of a published wheel that a baseline is made of, pinned and restored."""

from __future__ import annotations
