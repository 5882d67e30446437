"""Wrappers: mutants of the whole call, which hand the reference other inputs or spoil its output.

Each is the source of a function with the reference's own signature, which finds the reference under
the name `_original_<function>`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Option
from assay.spec.task import Role

_HALVES = {"half_precision": "float16", "bfloat16_precision": "bfloat16"}


@dataclass(frozen=True)
class Wrapper:
    name: str
    description: str
    source: str
    needs: tuple[str, ...] = ()


def wrappers(function: Function, definition: ast.FunctionDef) -> Iterator[Wrapper]:
    call = _Call(function, definition)
    yield from _output_wrappers(call)
    for argument in call.inputs:
        if argument.constant or argument.optional:
            yield from _dropped(call, argument)
    for option in function.options:
        yield from _option_wrappers(call, option)
    yield from _swapped(call)
    yield from _precision_wrappers(call)
    for argument in call.inputs:
        yield from _without_ends(call, argument)


class _Call:
    """The reference's signature, and the source of calls with some arguments replaced."""

    def __init__(self, function: Function, definition: ast.FunctionDef) -> None:
        self._name = function.name
        self._signature = ast.unparse(definition.args)
        arguments = definition.args
        self._plain = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        self._keywords = [a.arg for a in arguments.kwonlyargs]
        named = {*self._plain, *self._keywords}
        self.inputs = [
            a for a in function.arguments if a.role is not Role.OUTPUT and a.name in named
        ]
        self.outputs = [a for a in function.arguments if a.role is not Role.INPUT]
        self.whole = _whole_arguments(function)
        self.options = [option for option in function.options if option.name in named]

    def with_inputs(self, **replaced: str) -> str:
        return self._define(f"return {self._called(replaced)}")

    def with_output(self, index: int, spoilt: str) -> str:
        """`spoilt` is what output number `index`, called y, becomes."""
        if len(self.outputs) == 1:
            return self._define(f"y = {self._called({})}", f"return {spoilt}")
        return self._define(
            f"outputs = list({self._called({})})",
            f"y = outputs[{index}]",
            f"outputs[{index}] = {spoilt}",
            "return tuple(outputs)",
        )

    def with_all(self, convert: str, back: str) -> str:
        """Every input t as `convert` has it, and every output t as `back` has it."""
        replaced = {a.name: f"convert({a.name})" for a in self.inputs}
        return self._define(
            f"convert = lambda t: {convert}",
            f"back = lambda t: {back}",
            f"outputs = {self._called(replaced)}",
            "return tuple(map(back, outputs)) if isinstance(outputs, tuple) else back(outputs)",
        )

    def _called(self, replaced: dict[str, str]) -> str:
        plain = [replaced.get(name, name) for name in self._plain]
        keywords = [f"{name}={replaced.get(name, name)}" for name in self._keywords]
        return f"_original_{self._name}({', '.join([*plain, *keywords])})"

    def _define(self, *statements: str) -> str:
        lines = ["import torch", "", "", f"def {self._name}({self._signature}):"]
        return "\n".join([*lines, *(f"    {statement}" for statement in statements)]) + "\n"


def _output_wrappers(call: _Call) -> Iterator[Wrapper]:
    for index, output in enumerate(call.outputs):
        of = f"_{output.name}" if len(call.outputs) > 1 else ""
        zeros, negated = (call.with_output(index, new) for new in ("torch.zeros_like(y)", "-y"))
        yield Wrapper(f"zeros{of}", f"{output.name} is all zeros", zeros)
        if output.name not in call.whole:
            yield Wrapper(f"negated{of}", f"{output.name} with the other sign", negated)
        same = [a for a in call.inputs if a.shape == output.shape and a.name not in call.whole]
        if same and output.name not in call.whole:
            source = call.with_output(index, f"{same[0].name}.clone()")
            what = f"{output.name} is {same[0].name} itself"
            yield Wrapper(f"identity{of}", what, source, (same[0].name,))


def _dropped(call: _Call, argument: Argument) -> Iterator[Wrapper]:
    """Both neutral elements: one for what multiplies, zero for what is added."""
    name = argument.name
    for kind, like, what in (
        ("drop", "ones_like", "ones"),
        ("zero", "zeros_like", "zeros"),
    ):
        new = f"None if {name} is None else torch.{like}({name})"
        source = call.with_inputs(**{name: new})
        yield Wrapper(f"{kind}_{name}", f"{name} is taken for {what}", source, (name,))


def _option_wrappers(call: _Call, option: Option) -> Iterator[Wrapper]:
    if option not in call.options:
        return
    for kind, new in _other_values(option):
        source = call.with_inputs(**{option.name: new})
        yield Wrapper(f"{option.name}_{kind}", f"{option.name} is taken for {new}", source)


def _other_values(option: Option) -> Iterator[tuple[str, str]]:
    name = option.name
    if option.choices is not None:
        following = (*option.choices[1:], option.choices[0])
        if len(option.choices) > 1:
            table = dict(zip(option.choices, following, strict=True))
            yield "other", f"{table!r}[{name}]"
    elif "eps" in name:
        yield "times_10", f"{name} * 10"
        yield "zero", f"{name} * 0"
    else:
        # Whole numbers go to the next one, others a tenth away.
        yield "up", f"{name} + 1 if isinstance({name}, int) else {name} * 1.1 + 0.01"
        yield "down", f"{name} - 1 if isinstance({name}, int) else {name} * 0.9 - 0.01"


def _swapped(call: _Call) -> Iterator[Wrapper]:
    for one, other in itertools.combinations(call.inputs, 2):
        if one.shape == other.shape and (one.name in call.whole) == (other.name in call.whole):
            a, b = one.name, other.name
            source = call.with_inputs(**{a: b, b: a})
            yield Wrapper(f"swap_{a}_{b}", f"{a} and {b} exchanged", source, (a, b))


def _precision_wrappers(call: _Call) -> Iterator[Wrapper]:
    for name, dtype in _HALVES.items():
        convert = f"t.to(torch.{dtype}) if t is not None and t.is_floating_point() else t"
        back = "t.to(torch.float64) if t.is_floating_point() else t"
        yield Wrapper(name, f"all of it computed in {dtype}", call.with_all(convert, back))


def _without_ends(call: _Call, argument: Argument) -> Iterator[Wrapper]:
    if not argument.shape or argument.name in call.whole:
        return
    name = argument.name
    for end, kept in (
        ("first", f"torch.cat((torch.zeros_like({name}[..., :1]), {name}[..., 1:]), -1)"),
        ("last", f"torch.cat(({name}[..., :-1], torch.zeros_like({name}[..., -1:])), -1)"),
    ):
        source = call.with_inputs(**{name: f"None if {name} is None else {kept}"})
        what = f"the {end} element of {name}'s last axis is taken for zero"
        yield Wrapper(f"ignore_{end}_{name}", what, source, (name,))


def _whole_arguments(function: Function) -> frozenset[str]:
    """Arguments of whole numbers or booleans, directly or by being like one."""
    whole = {
        argument.name
        for argument in function.arguments
        if argument.dtypes is not None and not any(d.is_floating for d in argument.dtypes)
    }
    for _ in function.arguments:
        whole |= {argument.name for argument in function.arguments if argument.like in whole}
    return frozenset(whole)
