"""Task: a kernel to be made faster, with all that decides whether it was."""

from __future__ import annotations

import enum
from typing import Annotated
from typing import Any
from typing import Self

from pydantic import Field
from pydantic import SerializerFunctionWrapHandler
from pydantic import model_serializer
from pydantic import model_validator

from assay.spec.baseline import Baseline
from assay.spec.contract import Contract
from assay.spec.contract import Tolerance
from assay.spec.domain import AxisRef
from assay.spec.domain import Domain
from assay.spec.domain import Layout
from assay.spec.dtype import DType
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Symbol
from assay.spec.noun import TaskName
from assay.spec.solution import LanguagePreference
from assay.spec.workload import Finite
from assay.spec.workload import Integer
from assay.spec.workload import Scalar


class DeviceKind(enum.StrEnum):
    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"


class Role(enum.StrEnum):
    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"


SymbolicShape = Annotated[tuple[AxisRef, ...], Field(max_length=8)]


class Argument(Noun):
    """A tensor argument, by the names of its axes."""

    name: Symbol
    role: Role
    shape: SymbolicShape
    forms: Annotated[tuple[SymbolicShape, ...], Field(max_length=32)] = ()
    """Other shapes that it may have in place of `shape`; a row has one of them all."""
    form_of: Symbol | None = None
    """The argument that chooses: where that one has its third form, this one has its own third."""
    dtypes: Annotated[tuple[DType, ...], Field(min_length=1)] | None = None
    """Dtypes it may have; beside `like`, those it may have instead."""
    like: Symbol | None = None
    """The argument whose dtype it must share."""
    layouts: Annotated[tuple[Layout, ...], Field(min_length=1)] | None = None
    """How it may lie in memory, where that is not as the domain says."""
    optional: bool = False
    passed_with: Symbol | None = None
    """For an optional one: the other optional that it is passed together with, or not at all."""
    passed_if: tuple[Symbol, Scalar] | None = None
    """For an optional one: an option and its value, without which it is never passed."""
    constant: bool = False
    """A weight: the same content for all calls of a row, so `prepare` may pack it."""
    integers: tuple[Integer, AxisRef] | None = None
    """For an integer input: the least value, and the bound (exclusive), which may be an axis."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.dtypes is None and self.like is None:
            raise ValueError(f"argument {self.name} needs dtypes or like")
        for shape in self.every_form:
            if sum(str(axis).startswith("*") for axis in shape) > 1:
                raise ValueError(f"argument {self.name} has more than one * axis")
        if self.role is not Role.INPUT and (self.constant or self.integers):
            raise ValueError(f"argument {self.name}: only inputs are constant or have integers")
        if self.role is not Role.INPUT and self.forms and self.form_of is None:
            raise ValueError(f"argument {self.name}: only inputs choose their form")
        if self.form_of is not None and not self.forms:
            raise ValueError(f"argument {self.name} has the form of {self.form_of}, but no forms")
        if (self.passed_with or self.passed_if) and not self.optional:
            raise ValueError(f"argument {self.name} is passed at times, but is not optional")
        return self

    @model_serializer(mode="wrap")
    def _without_unused_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Evidence refers to tasks by a hash of this, and that of a task from before there were
        these keys must stay what it was."""
        content: dict[str, Any] = serialize(self)
        for key in ("forms", "form_of", "layouts", "passed_with", "passed_if"):
            if not getattr(self, key):
                content.pop(key, None)
        return content

    @property
    def every_form(self) -> tuple[tuple[AxisRef, ...], ...]:
        return (self.shape, *self.forms)


class Option(Noun):
    """A scalar argument and the values that it may take."""

    name: Symbol
    choices: Annotated[tuple[Scalar, ...], Field(min_length=1)] | None = None
    low: Finite | None = None
    high: Finite | None = None

    @model_validator(mode="after")
    def _has_one_rule(self) -> Self:
        ranged = self.low is not None and self.high is not None
        if (self.choices is None) != ranged or (self.low is None) != (self.high is None):
            raise ValueError(f"option {self.name} needs either choices, or low and high")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"option {self.name}: low is above high")
        return self

    def holds(self, value: Scalar) -> bool:
        if self.choices is not None:
            return any(type(value) is type(c) and value == c for c in self.choices)
        assert self.low is not None
        assert self.high is not None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= float(value) <= self.high


class Function(Noun):
    """One entry point of the task's family; all solutions define it under this name."""

    name: Symbol
    summary: Sentence
    arguments: Annotated[tuple[Argument, ...], Field(min_length=1)]
    options: tuple[Option, ...] = ()

    @model_validator(mode="after")
    def _names_are_known_and_differ(self) -> Self:
        names = [argument.name for argument in self.arguments]
        every = names + [option.name for option in self.options]
        if len(set(every)) != len(every):
            raise ValueError(f"function {self.name} has two arguments of one name")
        for argument in self.arguments:
            if argument.like is not None and argument.like not in names:
                raise ValueError(f"{argument.name} is like {argument.like}, which is no argument")
            self._check_form(argument)
            self._check_company(argument)
        if all(argument.role is Role.INPUT for argument in self.arguments):
            raise ValueError(f"function {self.name} has no output")
        return self

    def _check_form(self, argument: Argument) -> None:
        if argument.form_of is None:
            return
        chooser = self.argument(argument.form_of)
        if chooser is None or chooser.form_of is not None:
            raise ValueError(
                f"{argument.name} has the form of {argument.form_of}, which does not choose one"
            )
        if len(chooser.forms) != len(argument.forms):
            raise ValueError(
                f"{argument.name} and {chooser.name} differ in how many forms they have"
            )

    def _check_company(self, argument: Argument) -> None:
        if argument.passed_if is not None:
            name, value = argument.passed_if
            if not any(option.name == name and option.holds(value) for option in self.options):
                raise ValueError(f"{argument.name} is passed if {name} is {value}, which never is")
        if argument.passed_with is None:
            return
        other = self.argument(argument.passed_with)
        if other is None or not other.optional or other.passed_with is not None:
            raise ValueError(
                f"{argument.name} is passed with {argument.passed_with}, "
                "which is no optional argument that is free to be left out"
            )

    def argument(self, name: str) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)


class EquivalentMutant(Noun):
    """A mutant of the reference that no input can tell from it, declared with its reason."""

    mutant: Name
    function: Symbol | None = None
    """The one function of the task that it is a mutant of; None: of every one that has it."""
    reason: Sentence

    @model_serializer(mode="wrap")
    def _without_unused_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As an argument's: a task from before there was this key keeps its hash."""
        content: dict[str, Any] = serialize(self)
        if self.function is None:
            content.pop("function", None)
        return content


class Task(Document):
    """`task.toml`."""

    SCHEMA = "assay.task.1"

    name: TaskName
    summary: Sentence
    functions: Annotated[tuple[Function, ...], Field(min_length=1)]
    domain: Domain
    contract: Contract = Contract()
    tolerance: Tolerance = Tolerance()
    device: DeviceKind = DeviceKind.CPU
    """What its rows were made for; where it is judged unless told otherwise."""
    language: LanguagePreference = LanguagePreference.ANY
    baselines: Annotated[tuple[Baseline, ...], Field(min_length=1)]
    equivalent_mutants: tuple[EquivalentMutant, ...] = ()
    source: Sentence | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if len({function.name for function in self.functions}) != len(self.functions):
            raise ValueError("two functions have one name")
        if len({baseline.name for baseline in self.baselines}) != len(self.baselines):
            raise ValueError("two baselines have one name")
        self._check_equivalent_mutants()
        primary = [baseline.name for baseline in self.baselines if baseline.primary]
        if len(primary) != 1:
            raise ValueError(f"exactly one baseline is primary, not {len(primary)}")
        for function in self.functions:
            for argument in function.arguments:
                self._check_axes(argument)
        return self

    def _check_equivalent_mutants(self) -> None:
        named = [(item.mutant, item.function) for item in self.equivalent_mutants]
        whole = {mutant for mutant, function in named if function is None}
        twice = any(function is not None and mutant in whole for mutant, function in named)
        if twice or len(set(named)) != len(named):
            raise ValueError("a mutant is declared equivalent twice")
        for mutant, function in named:
            if function is not None and self.function(function) is None:
                raise ValueError(f"{mutant} is declared of {function}, which is no function")

    def _check_axes(self, argument: Argument) -> None:
        for axis in (axis for shape in argument.every_form for axis in shape):
            if isinstance(axis, str) and axis.removeprefix("*") not in self.domain.axes:
                raise ValueError(f"argument {argument.name}: axis {axis} is not in the domain")

    def content(self) -> dict[str, Any]:
        """Without the device where it is the default: evidence refers to tasks by a hash of this,
        and that of a task from before there was a choice must stay what it was."""
        content = super().content()
        if self.device is DeviceKind.CPU:
            del content["device"]
        return content

    @property
    def primary_baseline(self) -> Baseline:
        return next(baseline for baseline in self.baselines if baseline.primary)

    def function(self, name: str) -> Function | None:
        return next((f for f in self.functions if f.name == name), None)
