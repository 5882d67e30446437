"""Which names a module has, and where a lazy facade gets them from."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from assay.task.snapshot.imports import absolute

_OWNER = re.compile(r"\.*[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?")


@dataclass(frozen=True)
class Names:
    """The names of one module."""

    bound: frozenset[str]
    """What its own statements bind; `*` where one imports all of another module's."""
    literals: dict[str, list[str]]
    """Texts that stand for a name in a table, or in an assignment of it."""
    makes_names: bool
    """Whether it has a `__getattr__`."""

    def has(self, name: str) -> bool:
        if self.makes_names and name in self.literals:
            return True
        return name in self.bound or "*" in self.bound

    def owners(self, name: str, package: str) -> Iterator[str]:
        """Modules that may own the name, as literals of the module say.

        Three ways to write it are read: a table from names to modules, one from modules to names,
        and an assignment of the name that has the module's name in it.
        """
        for text in self.literals.get(name, ()):
            owner = text.partition(":")[0]
            yield absolute(owner, package)
            if not owner.startswith("."):
                yield f"{package}.{owner}"


def names_of(tree: ast.Module) -> Names:
    bound: set[str] = set()
    literals: defaultdict[str, list[str]] = defaultdict(list)
    makes_names = False
    for node in _own_statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
            makes_names = makes_names or node.name == "__getattr__"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {a.asname or a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.With):
            stored = set(_stored(node))
            bound |= stored
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                _note_literals(literals, stored, node.value)
    return Names(frozenset(bound), dict(literals), makes_names)


def _note_literals(
    literals: defaultdict[str, list[str]], stored: set[str], value: ast.expr
) -> None:
    for part in ast.walk(value):
        if isinstance(part, ast.Dict):
            for key, item in zip(part.keys, part.values, strict=True):
                names = [] if key is None else _texts(key)
                for one in names:
                    for other in _texts(item):
                        literals[one].append(other)
                        literals[other].append(one)
        elif isinstance(part, ast.Call):
            for name in stored:
                literals[name] += [text for argument in part.args for text in _texts(argument)]


def _texts(node: ast.expr) -> list[str]:
    """Literals that could be the name of something."""
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and _OWNER.fullmatch(part.value)
    ]


def _stored(node: ast.stmt) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _own_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run on import, those in branches too; not those of functions."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for block in ("body", "orelse", "finalbody"):
                waiting += getattr(node, block, [])
            for handler in getattr(node, "handlers", []):
                waiting += handler.body
