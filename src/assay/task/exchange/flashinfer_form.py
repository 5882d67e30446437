"""FlashInfer-Bench's documents: Definition, Workload, Solution and Trace, as far as we read them.

Keys that say nothing to us (tags, descriptions, dependencies) are passed over.
"""

from __future__ import annotations

import enum
import math
from typing import Annotated
from typing import Any
from typing import Literal
from typing import Self
from typing import TypeVar

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import ValidationError
from pydantic import model_validator

from assay.spec.errors import DocumentError
from assay.spec.errors import quote

Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ConstAxis(_Part):
    type: Literal["const"]
    value: Annotated[int, Field(ge=0)]


class VarAxis(_Part):
    type: Literal["var"]


class Tensor(_Part):
    shape: list[str] | None
    """None: a scalar."""
    dtype: Text


class Definition(_Part):
    name: Text
    op_type: str = ""
    axes: dict[str, Annotated[ConstAxis | VarAxis, Field(discriminator="type")]]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    reference: Text
    description: str | None = None
    constraints: list[str] | None = None

    @model_validator(mode="after")
    def _axes_are_known(self) -> Self:
        for name, tensor in {**self.inputs, **self.outputs}.items():
            for axis in tensor.shape or ():
                if axis not in self.axes:
                    raise ValueError(f"{name} has the axis {axis}, which is not defined")
        return self


class RandomInput(_Part):
    type: Literal["random"]


class ScalarInput(_Part):
    type: Literal["scalar"]
    value: bool | int | float


class StoredInput(_Part):
    type: Literal["safetensors"]
    path: Text
    tensor_key: Text


class Workload(_Part):
    axes: dict[str, Annotated[int, Field(ge=0)]]
    inputs: dict[
        str, Annotated[RandomInput | ScalarInput | StoredInput, Field(discriminator="type")]
    ]
    uuid: Text


class BuildSpec(_Part):
    language: Text
    target_hardware: list[str] = []
    entry_point: Text
    destination_passing_style: bool | None = None
    binding: str | None = None


class Source(_Part):
    path: Text
    content: str


class ForeignSolution(_Part):
    name: Text
    definition: Text
    author: str = ""
    spec: BuildSpec
    sources: Annotated[list[Source], Field(min_length=1)]


class TraceStatus(enum.StrEnum):
    PASSED = "PASSED"
    INCORRECT_SHAPE = "INCORRECT_SHAPE"
    INCORRECT_NUMERICAL = "INCORRECT_NUMERICAL"
    INCORRECT_DTYPE = "INCORRECT_DTYPE"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    COMPILE_ERROR = "COMPILE_ERROR"
    TIMEOUT = "TIMEOUT"


class Correctness(_Part):
    max_relative_error: float = 0.0
    max_absolute_error: float = 0.0
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_an_error(self) -> Self:
        for value in (self.max_relative_error, self.max_absolute_error):
            if not math.isnan(value) and value < 0:
                raise ValueError("an error below zero")
        return self


class Performance(_Part):
    latency_ms: Annotated[float, Field(ge=0)]
    reference_latency_ms: Annotated[float, Field(ge=0)]
    speedup_factor: Annotated[float, Field(ge=0)]


class Surroundings(_Part):
    hardware: Text
    libs: dict[str, str] = {}


class Evaluation(_Part):
    status: TraceStatus
    environment: Surroundings
    timestamp: Text
    log: str = ""
    correctness: Correctness | None = None
    performance: Performance | None = None

    @model_validator(mode="after")
    def _has_what_its_status_needs(self) -> Self:
        passed = self.status is TraceStatus.PASSED
        compared = passed or self.status is TraceStatus.INCORRECT_NUMERICAL
        if (self.correctness is not None) != compared:
            raise ValueError(f"correctness does not go with {self.status}")
        if (self.performance is not None) != passed:
            raise ValueError(f"performance does not go with {self.status}")
        return self


class Trace(_Part):
    definition: Text
    workload: Workload
    solution: str | None = None
    evaluation: Evaluation | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.solution is None) != (self.evaluation is None):
            raise ValueError("solution and evaluation come together")
        return self


P = TypeVar("P", bound=_Part)


def read_part(content: Any, kind: type[P], where: str) -> P:
    """DocumentError names the key that is wrong."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        message = quote(first["msg"].removeprefix("Value error, "))
        raise DocumentError(
            f"{message}", where=f"{where}: key {quote(key)}" if key else where
        ) from None
