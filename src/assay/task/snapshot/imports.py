"""What one module imports, read from its syntax tree; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_IMPORTERS = {"import_module", "__import__"}
_CATCHES_ALL = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True)
class Import:
    """One import: `import module`, or `from module import names`."""

    module: str
    """Absolute; a `*` stands for what only a run would know."""
    names: tuple[str, ...]
    line: int
    eager: bool
    """Whether importing the module at hand does it; what stands in a function is done later."""
    guarded: bool
    """Whether a failure is caught."""

    @property
    def needed(self) -> bool:
        return self.eager and not self.guarded


def imports_of(tree: ast.Module, module: str, *, is_package: bool) -> list[Import]:
    """All imports but those under TYPE_CHECKING, which nothing ever does."""
    reader = _Reader(module if is_package else module.rpartition(".")[0])
    reader.visit(tree)
    return reader.found


class _Reader(ast.NodeVisitor):
    def __init__(self, package: str) -> None:
        self.found: list[Import] = []
        self._package = package
        self._eager = True
        self._guarded = False

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, (), node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            base = absolute("." * node.level + base, self._package)
        if base:
            self._add(base, tuple(alias.name for alias in node.names), node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        if node.args and _called(node.func) in _IMPORTERS:
            pattern = text_pattern(node.args[0])
            if pattern:
                self._add(absolute(pattern, self._package), (), node.lineno)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not _is_type_checking(node.test):
            self._each(node.body)
        negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        if not (negated and _is_type_checking(node.test.operand)):  # type: ignore[attr-defined]
            self._each(node.orelse)
        self.visit(node.test)

    def visit_Try(self, node: ast.Try) -> None:
        with self._within(guarded=any(map(_catches, node.handlers))):
            self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        with self._within(guarded=any(_suppresses(item.context_expr) for item in node.items)):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def _function(self, node: ast.AST) -> None:
        with self._within(later=True):
            self.generic_visit(node)

    @contextmanager
    def _within(self, *, guarded: bool = False, later: bool = False) -> Iterator[None]:
        before = self._eager, self._guarded
        self._eager = self._eager and not later
        self._guarded = self._guarded or guarded
        yield
        self._eager, self._guarded = before

    def _each(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.visit(node)

    def _add(self, module: str, names: tuple[str, ...], line: int) -> None:
        self.found.append(Import(module, names, line, self._eager, self._guarded))


def absolute(name: str, package: str) -> str:
    """`..sibling` as seen from a package; a name without dots in front is absolute already."""
    level = len(name) - len(name.lstrip("."))
    if level == 0:
        return name
    kept = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*kept, *filter(None, [name[level:]])])


def text_pattern(node: ast.expr) -> str | None:
    """The text of a literal, with `*` for each part that is worked out at run time."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text_pattern(part) or "*" for part in node.values)
    return None


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_type_checking(node: ast.expr) -> bool:
    return _called(node) == "TYPE_CHECKING"


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _called(kind) in _CATCHES_ALL for kind in kinds)


def _suppresses(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or _called(node.func) != "suppress":
        return False
    return any(_called(argument) in _CATCHES_ALL for argument in node.args)
