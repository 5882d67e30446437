"""Sites: the places of a reference that can be changed, and how each of them can.

Arithmetic on shapes is left alone: spoilt, it crashes on most rows and does nothing on a few, which
says nothing about the task.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from assay.judge.mutant_calls import call_changes
from assay.judge.mutant_calls import called_name
from assay.judge.mutant_change import Builder
from assay.judge.mutant_change import Change
from assay.judge.mutant_change import shown

_RESHAPING = frozenset(
    {"chunk", "expand", "flatten", "movedim", "permute", "repeat", "repeat_interleave"}
    | {"reshape", "split", "squeeze", "transpose", "unflatten", "unsqueeze", "view"}
)
_FLIPPED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Eq: ast.NotEq}
_OTHER_BORDER = {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt}
_OTHER_WORD = {"tanh": "none", "none": "tanh", "mean": "sum", "sum": "mean"}


def sites_in(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it, parents first, apart from what only handles shapes."""
    yield node
    for child in _children(node):
        yield from sites_in(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute | ast.Call):
        is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if is_shape or called_name(node.value) == "size":
            return
    if isinstance(node, ast.BinOp) and _handles_lists(node):
        return
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.value
    elif isinstance(node, ast.Call) and called_name(node) in _RESHAPING:
        yield node.func
    else:
        yield from ast.iter_child_nodes(node)


def _handles_lists(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)


def guards_of(tree: ast.AST) -> dict[int, frozenset[str]]:
    """By the id of a node, the names that must not be None for it to be reached."""
    guards: dict[int, frozenset[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            name, body = _guard(node)
            for guarded in (inner for part in body for inner in ast.walk(part)):
                guards[id(guarded)] = guards.get(id(guarded), frozenset()) | {name}
    return guards


def _guard(node: ast.If | ast.IfExp) -> tuple[str, list[ast.AST]]:
    """The name that a condition holds against None, and what runs if there is something."""
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
        return "", []
    against = test.comparators[0]
    if not isinstance(against, ast.Constant) or against.value is not None:
        return "", []
    part = node.body if isinstance(test.ops[0], ast.IsNot) else node.orelse
    return test.left.id, list(part) if isinstance(part, list) else [part]


def changes_at(node: ast.AST, modules: frozenset[str]) -> Iterator[Change]:
    """`modules` are the names of imported ones."""
    if isinstance(node, ast.BinOp) and not _handles_lists(node):
        yield from _operation_changes(node)
    elif isinstance(node, ast.UnaryOp):
        yield from _sign_changes(node)
    elif isinstance(node, ast.Compare):
        yield from _comparison_changes(node)
    elif isinstance(node, ast.Constant):
        yield from _constant_changes(node)
    elif isinstance(node, ast.Call):
        yield from call_changes(node, modules)


def _operation_changes(node: ast.BinOp) -> Iterator[Change]:
    here = shown(node)
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
        kind = {ast.Sub: "sub", ast.Div: "div", ast.MatMult: "matmul", ast.Pow: "pow"}[
            type(node.op)
        ]
        yield Change(f"swap_{kind}", f"the operands of {here} swapped", _swapped)
    if isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        kind = "add_to_sub" if isinstance(node.op, ast.Add) else "sub_to_add"
        yield Change(kind, f"the other sign in {here}", lambda n: ast.BinOp(n.left, other, n.right))
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        part = "term" if isinstance(node.op, ast.Add | ast.Sub) else "factor"
        yield Change(f"drop_right_{part}", f"only the left of {here}", lambda n: n.left)
        if isinstance(node.op, ast.Add | ast.Mult):
            yield Change(f"drop_left_{part}", f"only the right of {here}", lambda n: n.right)


def _swapped(node: ast.BinOp) -> ast.AST:
    return ast.BinOp(node.right, node.op, node.left)


def _sign_changes(node: ast.UnaryOp) -> Iterator[Change]:
    # The sign of a number is changed with the number: dim=-1 and dim=1 are one in a matrix.
    if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield Change("drop_minus", f"{shown(node)} without its minus", lambda n: n.operand)
    if isinstance(node.op, ast.Not | ast.Invert):
        yield Change("drop_not", f"{shown(node)} without its not", lambda n: n.operand)


def _comparison_changes(node: ast.Compare) -> Iterator[Change]:
    here = shown(node)
    for kind, table, how in (
        ("flip_comparison", _FLIPPED, "the other way round"),
        ("move_border", _OTHER_BORDER, "with its border on the other side"),
    ):
        other = table.get(type(node.ops[0]))
        if other is not None:
            yield Change(kind, f"{here} {how}", _compared_by(other()))


def _compared_by(operator: ast.cmpop) -> Builder:
    return lambda n: ast.Compare(n.left, [operator, *n.ops[1:]], n.comparators)


def _constant_changes(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield _constant("constant_plus", value, value + 1)
        if value > 0:
            yield _constant("constant_minus", value, value - 1)
    elif isinstance(value, float):
        yield _constant("constant_plus", value, value * 1.01 if value else 0.01)
        yield _constant("constant_minus", value, value * 0.99 if value else -0.01)
    elif isinstance(value, str) and value in _OTHER_WORD:
        yield _constant("other_word", value, _OTHER_WORD[value])


def _constant(kind: str, old: float | str, new: float | str) -> Change:
    return Change(kind, f"{old!r} became {new!r}", lambda n: ast.Constant(new))
