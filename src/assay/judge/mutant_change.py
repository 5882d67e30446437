"""Change: one way to spoil one node of a source tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Builder = Callable[[Any], ast.AST]


@dataclass(frozen=True)
class Change:
    kind: str
    description: str
    build: Builder
    """Makes the new node from the old one, whose parts it may use."""


def shown(node: ast.AST) -> str:
    """The node's source, short enough for a sentence."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."
