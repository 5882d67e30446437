"""What a KernelBench problem was found to be, in names of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import ValidationError

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import kernelbench_text as text
from assay.task.exchange.names import symbol
from assay.task.exchange.probe import probed

PROBLEM_FILE = "problem.py"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FoundInput(_Strict):
    name: str
    kind: str
    shape: list[int] | None = None
    dtype: str | None = None
    value: bool | int | float | str | None = None
    low: int | None = None
    high: int | None = None


class FoundWeight(_Strict):
    name: str
    shape: list[int]
    dtype: str
    power: int


class FoundOutput(_Strict):
    shape: list[int]
    dtype: str


class Found(_Strict):
    """What the probe says of a problem."""

    inputs: list[FoundInput]
    weights: list[FoundWeight]
    outputs: list[FoundOutput]
    remarks: list[str]


@dataclass(frozen=True)
class Problem:
    source: str
    of: str
    """The file's name."""
    signature: text.Signature
    arguments: tuple[dict[str, Any], ...]
    options: dict[str, Any]
    remarks: tuple[str, ...]


def look_at(source: str, path: Path, function: str | None = None) -> Problem:
    """The problem as it was found by running it, in names of ours."""
    where = quote(path)
    answer = probed("kernelbench_probe", {PROBLEM_FILE: source}, {"problem": PROBLEM_FILE}, where)
    try:
        found = Found.model_validate(answer)
    except ValidationError:
        raise UsageError("it could not be described", where=where) from None
    function = function or symbol(re.sub(r"^\d+_", "", path.stem).lower(), text.OURS)
    taken = {function, *text.OURS}
    names: list[str] = []
    for item in found.inputs:
        names.append(symbol(item.name, taken))
        taken.add(names[-1])
    weights = []
    for weight in found.weights:
        argument = symbol(weight.name, taken)
        taken.add(argument)
        shape = tuple(weight.shape)
        weights.append(text.Weight(argument, weight.name, shape, weight.dtype, weight.power))
    outputs = ["y"] if len(found.outputs) == 1 else [f"y{n}" for n in range(len(found.outputs))]
    outputs = [symbol(output, taken) for output in outputs]
    kinds = {name: item.kind for name, item in zip(names, found.inputs, strict=True)}
    tensors = tuple(name for name in names if kinds[name] == "tensor")
    if not tensors and not weights:
        raise UsageError("it has no tensor as an input", where=where)
    signature = text.Signature(
        function=function,
        tensors=tensors,
        weights=tuple(weights),
        options=tuple(name for name in names if kinds[name] == "scalar"),
        call=tuple("None" if kinds[name] == "none" else name for name in names),
        outputs=len(outputs),
    )
    return Problem(
        source=source,
        of=path.name,
        signature=signature,
        arguments=(
            *(
                _input(name, item)
                for name, item in zip(names, found.inputs, strict=True)
                if item.kind == "tensor"
            ),
            *(_weight(weight) for weight in weights),
            *(
                {"name": n, "role": "output", "shape": o.shape, "dtypes": [o.dtype]}
                for n, o in zip(outputs, found.outputs, strict=True)
            ),
        ),
        options={
            name: item.value
            for name, item in zip(names, found.inputs, strict=True)
            if item.kind == "scalar"
        },
        remarks=tuple(map(quote, found.remarks)),
    )


def _input(name: str, item: FoundInput) -> dict[str, Any]:
    argument = {"name": name, "role": "input", "shape": item.shape, "dtypes": [item.dtype]}
    if item.low is not None and item.high is not None:
        argument["integers"] = [item.low, item.high + 1]
    return argument


def _weight(weight: text.Weight) -> dict[str, Any]:
    return {
        "name": weight.argument,
        "role": "input",
        "shape": list(weight.shape),
        "dtypes": [weight.dtype],
        "constant": True,
    }
