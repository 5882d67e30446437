"""In place of the front end's helpers."""

from __future__ import annotations


def is_in_ci() -> bool:
    return False
