"""What can be changed at a call: another function, none, or a reduction that misses an element."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from assay.judge.mutant_change import Builder
from assay.judge.mutant_change import Change
from assay.judge.mutant_change import shown

_OTHER_FUNCTIONS = {
    "amax": "amin",
    "amin": "amax",
    "argmax": "argmin",
    "argmin": "argmax",
    "ceil": "floor",
    "cos": "sin",
    "erf": "tanh",
    "exp": "exp2",
    "exp2": "exp",
    "floor": "ceil",
    "gelu": "silu",
    "log": "log2",
    "log2": "log",
    "max": "min",
    "maximum": "minimum",
    "mean": "sum",
    "min": "max",
    "minimum": "maximum",
    "round": "floor",
    "rsqrt": "sqrt",
    "sigmoid": "tanh",
    "silu": "gelu",
    "sin": "cos",
    "std": "var",
    "sum": "mean",
    "tanh": "sigmoid",
    "var": "std",
}
_DROPPED = frozenset(
    {"abs", "clamp", "exp", "gelu", "log", "neg", "relu", "round"}
    | {"rsqrt", "sigmoid", "silu", "sqrt", "square", "tanh"}
)
_REDUCTIONS = frozenset(
    {"amax", "amin", "argmax", "argmin", "logsumexp", "mean", "norm", "std", "sum", "var"}
)
_CORRECTIONS = frozenset({"unbiased", "correction"})
# Without it the shape changes, and whatever follows crashes or broadcasts: no subtle mistake.
_SHAPE_FLAGS = frozenset({"keepdim", "keepdims"})


def called_name(node: ast.AST) -> str:
    """The last part of what is called: `mean` for `x.mean(...)` and for `torch.mean(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def call_changes(node: ast.Call, modules: frozenset[str]) -> Iterator[Change]:
    if not isinstance(node.func, ast.Attribute):
        return
    name, here = node.func.attr, shown(node)
    if name in _OTHER_FUNCTIONS:
        other = _OTHER_FUNCTIONS[name]
        yield Change(f"{name}_to_{other}", f"{other} in place of {name}", _renamed(other))
    if _has_operand(node, modules):
        if name in _DROPPED:
            yield Change(f"drop_{name}", f"{here} without {name}", lambda n: _operand(n, modules))
        if name in _REDUCTIONS:
            yield from _reduction_changes(node, modules)
    yield from _flag_changes(node)


def _reduction_changes(node: ast.Call, modules: frozenset[str]) -> Iterator[Change]:
    name, here = called_name(node), shown(node)
    dim = _dim(node, modules)
    if dim is None:
        last, first = "t.flatten()[:-1]", "t.flatten()[1:]"
    else:
        last, first = (f"t.narrow({dim}, {start}, t.shape[{dim}] - 1)" for start in (0, 1))
    for end, part in (("last", last), ("first", first)):
        build = _on_operand(modules, part)
        yield Change(f"{name}_without_{end}", f"{here} without the {end} element", build)
    if name == "mean" and dim is not None:
        build = _times(modules, f"t.shape[{dim}] / (t.shape[{dim}] - 1)")
        yield Change("mean_unbiased", f"{here} divided by one less than the count", build)


def _flag_changes(node: ast.Call) -> Iterator[Change]:
    for index, keyword in enumerate(node.keywords):
        value = keyword.value
        flag = isinstance(value, ast.Constant) and isinstance(value.value, bool)
        if flag and keyword.arg not in _SHAPE_FLAGS:
            yield Change(
                f"flip_{keyword.arg}", f"the other {ast.unparse(keyword)}", _flipped(index)
            )
    given = {keyword.arg for keyword in node.keywords}
    if called_name(node) in {"var", "std"} and not given & _CORRECTIONS:
        yield Change("var_biased", f"{shown(node)} divided by the count", _without_correction)


def _has_operand(node: ast.Call, modules: frozenset[str]) -> bool:
    return bool(node.args) or not _is_of_module(node, modules)


def _operand(node: ast.Call, modules: frozenset[str]) -> ast.expr:
    """What the call works on: a method's owner, or the first argument of a module's function."""
    if _is_of_module(node, modules):
        return node.args[0]
    assert isinstance(node.func, ast.Attribute)
    return node.func.value


def _is_of_module(node: ast.Call, modules: frozenset[str]) -> bool:
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in modules


def _dim(node: ast.Call, modules: frozenset[str]) -> str | None:
    """Source of the reduced axis; the last one, where there are several."""
    found = [keyword.value for keyword in node.keywords if keyword.arg in {"dim", "axis"}]
    # The first plain argument of `norm` is its order.
    plain = node.args[1:] if _is_of_module(node, modules) else node.args
    if not found and called_name(node) != "norm":
        found = plain[:1]
    if not found:
        return None
    dim = found[0]
    if isinstance(dim, ast.Tuple | ast.List) and dim.elts:
        dim = dim.elts[-1]
    return ast.unparse(dim)


def _renamed(name: str) -> Builder:
    def build(node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Attribute)
        node.func.attr = name
        return node

    return build


def _on_operand(modules: frozenset[str], part: str) -> Builder:
    """The same call on a part of its operand, which the source calls t."""

    def build(node: ast.Call) -> ast.AST:
        shortened = _applied(part, _operand(node, modules))
        if _is_of_module(node, modules):
            node.args[0] = shortened
        else:
            assert isinstance(node.func, ast.Attribute)
            node.func.value = shortened
        return node

    return build


def _times(modules: frozenset[str], factor: str) -> Builder:
    def build(node: ast.Call) -> ast.AST:
        operand = copy.deepcopy(_operand(node, modules))
        return ast.BinOp(node, ast.Mult(), _applied(factor, operand))

    return build


def _applied(source: str, operand: ast.expr) -> ast.Call:
    return ast.Call(ast.parse(f"lambda t: {source}", mode="eval").body, [operand], [])


def _flipped(index: int) -> Builder:
    def build(node: ast.Call) -> ast.AST:
        value = node.keywords[index].value
        assert isinstance(value, ast.Constant)
        node.keywords[index].value = ast.Constant(not value.value)
        return node

    return build


def _without_correction(node: ast.Call) -> ast.AST:
    node.keywords.append(ast.keyword("correction", ast.Constant(0)))
    return node
