"""Mutants: subtly wrong versions of a reference, made by program and never run here.

A task whose checks let a mutant through could not have told a wrong kernel from a right one. The
mutants of the whole call (mutant_wrappers.py) come first, then those of single places in the source
(mutant_sites.py), one of each kind in turn until there are `MOST_MUTANTS`.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

from assay.judge.mutant_change import Change
from assay.judge.mutant_sites import changes_at
from assay.judge.mutant_sites import guards_of
from assay.judge.mutant_sites import sites_in
from assay.judge.mutant_wrappers import wrappers
from assay.spec.errors import DocumentError
from assay.spec.task import Function

MOST_MUTANTS = 60


@dataclass(frozen=True)
class Mutant:
    name: str
    description: str
    source: str
    needs: tuple[str, ...] = ()
    """Arguments without which it does nothing: on a row where one is absent it is the reference."""


def mutants(source: str, function: Function) -> tuple[Mutant, ...]:
    """Mutants of one function of a reference, the same ones each time, under differing names."""
    tree = _parsed(source)
    target = _definition(tree, function.name)
    found = itertools.chain(
        (
            Mutant(w.name, w.description, _with_wrapper(tree, function.name, w.source), w.needs)
            for w in wrappers(function, target)
        ),
        _site_mutants(tree, function),
    )
    return tuple(itertools.islice(_distinct(found, ast.unparse(tree)), MOST_MUTANTS))


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise DocumentError(f"line {error.lineno}: {error.msg}", where="reference") from None


def _definition(tree: ast.Module, name: str) -> ast.FunctionDef:
    for node in _definitions(tree):
        if node.name == name:
            return node
    raise DocumentError(f"defines no function {name}", where="reference")


def _definitions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _with_wrapper(tree: ast.Module, name: str, wrapper: str) -> str:
    """The reference under another name, and a function of its own name that calls it."""
    copied = copy.deepcopy(tree)
    _definition(copied, name).name = f"_original_{name}"
    return f"{ast.unparse(copied)}\n\n\n{wrapper}"


def _site_mutants(tree: ast.Module, function: Function) -> Iterator[Mutant]:
    """Helpers that the function calls are mutated like itself."""
    arguments = {argument.name for argument in function.arguments}
    reached = _reached(tree, function.name)
    modules, guards, sites = _imported(tree), guards_of(tree), _sites(tree, reached)
    found = [
        (position, change)
        for position, site in enumerate(sites)
        for change in changes_at(site, modules)
    ]
    for position, change in _in_turns(found):
        site = sites[position]
        yield Mutant(
            name=f"{change.kind}_line{getattr(site, 'lineno', 0)}",
            description=change.description,
            source=_changed(tree, reached, position, change),
            needs=tuple(sorted(guards.get(id(site), frozenset()) & arguments)),
        )


def _imported(tree: ast.Module) -> frozenset[str]:
    """Names that stand for modules, so that a call through one is no method of a tensor."""
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    return frozenset((alias.asname or alias.name).split(".")[0] for alias in aliases)


def _reached(tree: ast.Module, name: str) -> frozenset[str]:
    """The function and all that it names, however far down: no other can change its answer."""
    defined = {node.name: node for node in _definitions(tree)}
    reached, waiting = set[str](), [name]
    while waiting:
        current = waiting.pop()
        if current in defined and current not in reached:
            reached.add(current)
            waiting += [n.id for n in ast.walk(defined[current]) if isinstance(n, ast.Name)]
    return frozenset(reached)


def _sites(tree: ast.Module, reached: frozenset[str]) -> list[ast.AST]:
    """Every site in the bodies of the functions that are reached; signatures are left alone."""
    bodies = (node.body for node in _definitions(tree) if node.name in reached)
    return [site for body in bodies for statement in body for site in sites_in(statement)]


def _changed(tree: ast.Module, reached: frozenset[str], position: int, change: Change) -> str:
    fresh = copy.deepcopy(tree)
    site = _sites(fresh, reached)[position]
    mutated = _Replacement(site, change.build(site)).visit(fresh)
    return ast.unparse(ast.fix_missing_locations(mutated))


class _Replacement(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            return self._new
        visited: ast.AST = self.generic_visit(node)
        return visited


def _in_turns(found: Sequence[tuple[int, Change]]) -> Iterator[tuple[int, Change]]:
    """One of each kind, then a second one of each, and so on."""
    kinds: dict[str, list[tuple[int, Change]]] = {}
    for position, change in found:
        kinds.setdefault(change.kind, []).append((position, change))
    for turn in itertools.zip_longest(*kinds.values()):
        yield from (place for place in turn if place is not None)


def _distinct(found: Iterator[Mutant], original: str) -> Iterator[Mutant]:
    """Without the reference itself and repeats; a name's second bearer gets a number."""
    sources = {original}
    bearers: dict[str, int] = {}
    for mutant in found:
        if mutant.source in sources:
            continue
        sources.add(mutant.source)
        bearers[mutant.name] = count = bearers.get(mutant.name, 0) + 1
        yield mutant if count == 1 else replace(mutant, name=f"{mutant.name}_{count}")
