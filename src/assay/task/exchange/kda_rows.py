"""Rows of `bench/workloads.json` in KDA-Pilot's dialects, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.spec.binding import layout_of
from assay.spec.domain import Layout
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

RESERVED = frozenset(
    {"id", "production", "function", "models", "preset", "shapes", "dtype", "strides", "layout"}
    | {"contiguous", "seed", "seed_component", "atol", "rtol", "comparison", "capture", "source"}
    | {"sites", "note", "calls"}
)
"""Keys of a row that are no option of the function."""


def written(row: Row, *, exact: bool) -> dict[str, Any]:
    """A row of ours in their words; a tensor is shape, dtype and, where it is told, stride."""
    for name in row.options:
        if name in RESERVED:
            raise UsageError(f"row {row.id}: a row there has no room for an option called {name}")
    content: dict[str, Any] = {
        "id": row.id,
        "production": row.headline,
        "function": row.function,
        "models": list(row.models),
        "shapes": {name: _tensor(spec) for name, spec in row.tensors.items()},
        **row.options,
    }
    if exact:
        content |= {"comparison": "torch_equal", "atol": 0.0, "rtol": 0.0}
    for key, value in (("calls", row.calls), ("note", row.note)):
        if value is not None:
            content[key] = value
    if row.seen_on:
        content["source"] = {"seen_on": list(row.seen_on)}
    return content


def _tensor(spec: TensorSpec | None) -> dict[str, Any] | None:
    if spec is None:
        return None
    content: dict[str, Any] = {"shape": list(spec.shape), "dtype": spec.dtype.value}
    if spec.strides is not None:
        content["stride"] = list(spec.strides)
    return content | ({"offset": spec.offset} if spec.offset else {})


def read(content: object, index: int) -> dict[str, Any]:
    """A row of theirs in our words, its options being all the scalars that it has."""
    if not isinstance(content, Mapping) or not isinstance(content.get("id"), str):
        raise UsageError(f"row {index} has no id")
    what = f"row {quote(content['id'])}"
    shapes = content.get("shapes")
    if not isinstance(shapes, Mapping) or not isinstance(content.get("function"), str):
        raise UsageError(f"{what} has no function or no shapes")
    tensors = {
        name: _spec(content, shapes, str(name), what)
        for name, value in shapes.items()
        if not isinstance(value, int)  # the extent of an axis, that layouts refer to
    }
    source = content.get("source")
    seen_on = source.get("seen_on", ()) if isinstance(source, Mapping) else ()
    models = content.get("models", [content["preset"]] if "preset" in content else [])
    row: dict[str, Any] = {
        "id": content["id"],
        "function": content["function"],
        "tensors": tensors,
        "options": {
            key: value
            for key, value in content.items()
            if key not in RESERVED and isinstance(value, bool | int | float | str)
        },
        "models": models,
        "seen_on": list(seen_on),
        "headline": content.get("production", True),
    }
    return row | {key: content[key] for key in ("calls", "note") if key in content}


def _spec(
    row: Mapping[str, Any], shapes: Mapping[str, Any], name: str, what: str
) -> dict[str, Any] | None:
    value, what = shapes[name], f"{what}: {quote(name)}"
    if value is None:
        return None
    if isinstance(value, list):
        value = {"shape": value}
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} is neither a shape nor a table")
    layout = value.get("layout", "contiguous")
    shape = value.get("shape")
    if shape is None:
        shape = _by_letters(str(layout), shapes, what)
    elif layout != "contiguous" and "stride" not in value:
        raise UsageError(
            f"{what} has the layout {quote(layout)}, which its own program alone knows",
            next_step="write its stride",
        )
    dtype = value.get("dtype", row.get("dtype"))
    if dtype is None:
        raise UsageError(f"{what} has no dtype")
    spec = {"shape": shape, "dtype": dtype}
    for theirs, ours in (("stride", "strides"), ("offset", "offset")):
        if theirs in value:
            spec[ours] = value[theirs]
    return spec


def _by_letters(layout: str, shapes: Mapping[str, Any], what: str) -> list[int]:
    """`1SD`: an axis of one element, then the extents that the row gives for S and D."""
    extents = []
    for letter in layout:
        extent = int(letter) if letter.isdigit() else shapes.get(letter)
        if not isinstance(extent, int):
            raise UsageError(
                f"{what} has the layout {quote(layout)}, and the row has no {quote(letter)}"
            )
        extents.append(extent)
    return extents


def plainly(row: Row) -> dict[str, Any]:
    """The row's content, without strides that say no more than the shape does."""
    content = row.content()
    for name, spec in row.tensors.items():
        if spec is not None and spec.strides and layout_of(spec) is Layout.CONTIGUOUS:
            content["tensors"][name]["strides"] = None
    return content
