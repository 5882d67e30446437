"""The red team: known ways to cheat an evaluator, each tried for real against this one."""

from __future__ import annotations
