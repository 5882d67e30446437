"""Sites of Python sources: Triton's `kernel[grid](…)`, calls of own functions that write, and
elements of an argument that an own function's result is put into.

Left alone are calls whose result is used otherwise, bodies of Triton kernels, and functions that
write to nothing they are given: to check arguments or to remember a plan is no decoy.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from assay.judge.ablation_site import Site

_NOTHING = b"None"
_TRAP = b'__import__("os")._exit(77)'
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Removable = ast.Call | ast.Assign


def python_sites(sources: Mapping[str, bytes], most: int) -> list[Site]:
    """In order of file and line; nothing of a source that Python itself cannot read."""
    trees = {}
    for path, content in sources.items():
        try:
            content.decode()
            trees[path] = ast.parse(content)
        except _UNREADABLE:
            continue
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, _Function) and not _is_kernel(node)
    ]
    own, writers = frozenset(function.name for function in functions), _writers(functions)
    found: list[Site] = []
    for path, tree in trees.items():
        starts = _line_starts(sources[path])
        removable = sorted(_removable(tree, own, writers), key=lambda one: _position(one[0]))
        for node, kernel, is_launch in removable:
            if len(found) == most:
                return found
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            found.append(Site(path, node.lineno, kernel, start, end, _NOTHING, _TRAP, is_launch))
    return found


def _position(node: _Removable) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _line_starts(source: bytes) -> list[int]:
    lengths = (len(line) for line in source.splitlines(keepends=True))
    return [0, *itertools.accumulate(lengths)]


def _removable(
    tree: ast.Module, own: frozenset[str], writers: frozenset[str]
) -> Iterator[tuple[_Removable, str, bool]]:
    """What can go, with the kernel's name, and whether it launches one."""
    kernels = [n for n in ast.walk(tree) if isinstance(n, _Function) and _is_kernel(n)]
    inside_kernels = {id(inner) for kernel in kernels for inner in ast.walk(kernel)}
    given = _given_names(tree)
    for node in ast.walk(tree):
        if id(node) in inside_kernels or not isinstance(node, ast.Expr | ast.Assign):
            continue
        call = node.value
        if not isinstance(call, ast.Call):
            continue
        name = _name(call.func)
        if isinstance(call.func, ast.Subscript):
            yield call, name, True
        elif isinstance(node, ast.Expr) and name in writers:
            yield call, name, False
        elif isinstance(node, ast.Assign) and name in own and _is_put_into(node, given):
            yield node, name, False


def _given_names(tree: ast.Module) -> dict[int, set[str]]:
    """By the id of an assignment, the arguments of the functions around it."""
    found: dict[int, set[str]] = {}
    for function in ast.walk(tree):
        if isinstance(function, _Function):
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    found.setdefault(id(node), set()).update(_arguments(function))
    return found


def _arguments(function: _Function) -> set[str]:
    every = function.args
    return {a.arg for a in (*every.posonlyargs, *every.args, *every.kwonlyargs)}


def _is_put_into(node: ast.Assign, given: Mapping[int, set[str]]) -> bool:
    return all(_is_part_of(target, given.get(id(node), set())) for target in node.targets)


def _is_part_of(target: ast.expr, names: set[str]) -> bool:
    """Whether it is an element or a slice of one of these: `y[0, 0]`."""
    if not isinstance(target, ast.Subscript):
        return False
    return isinstance(target.value, ast.Name) and target.value.id in names


def _name(node: ast.expr) -> str:
    """The last part of a dotted name; of a table of kernels, the table's."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else "unnamed"


def _is_kernel(function: _Function) -> bool:
    marks = (d.func if isinstance(d, ast.Call) else d for d in function.decorator_list)
    return any(_name(mark).endswith("jit") for mark in marks)


def _writers(functions: Sequence[_Function]) -> frozenset[str]:
    """Functions that write to what they are given, or launch, or call one that does."""
    found = {function.name for function in functions if _writes(function)}
    calls = {
        function.name: {_name(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
        for function in functions
    }
    while True:
        more = {name for name, called in calls.items() if called & found} - found
        if not more:
            return frozenset(found)
        found |= more


def _writes(function: _Function) -> bool:
    given = _arguments(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if _is_part_of(node, given):
                return True
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Subscript):
                return True
            if any(keyword.arg == "out" for keyword in node.keywords):
                return True
            if isinstance(node.func, ast.Attribute) and _in_place(node.func.attr):
                return True
    return False


def _in_place(method: str) -> bool:
    """As torch names what changes its tensor: `add_`, `copy_`."""
    return method.endswith("_") and not method.endswith("__")
