"""What the rows of a KDA-Pilot task say of it, where nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.spec.binding import layout_of
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.workload import Row
from assay.task.exchange.form import WORKLOADS
from assay.task.exchange.kda_config import Config
from assay.task.exchange.names import name as as_name
from assay.task.exchange.names import sentence

BASELINE = "baseline"


def task_of(
    config: Config, rows: tuple[Row, ...], functions: list[str], folder: Path
) -> dict[str, Any]:
    """What the rows say of a task that has none: their extents, and no others."""
    axes: dict[tuple[int, ...], str] = {}
    described = [
        _function(name, [row for row in rows if row.function == name], axes, folder)
        for name in functions
    ]
    layouts = {layout_of(s).value for row in rows for s in row.tensors.values() if s is not None}
    return {
        "name": f"kda/{as_name(config.slug)}",
        "summary": sentence(config.summary, config.slug),
        "source": f"imported from the KDA-Pilot task {as_name(config.slug)}",
        "device": "cpu" if config.arch == "cpu" else "cuda",
        "functions": described,
        "domain": {
            "axes": {
                name: {
                    "low": min(extents),
                    "high": max(extents),
                    "choices": sorted(set(extents)),
                }
                for extents, name in axes.items()
            },
            "layouts": sorted({"contiguous", *layouts}),
        },
        "tolerance": {"exact": True} if config.exact else None,
        "baselines": [
            {"kind": "local", "name": BASELINE, "primary": True, "path": f"baselines/{BASELINE}"}
        ],
    }


def _function(
    name: str, rows: list[Row], axes: dict[tuple[int, ...], str], folder: Path
) -> dict[str, Any]:
    where = quote(folder / WORKLOADS)
    names = list(dict.fromkeys(argument for row in rows for argument in row.tensors))
    outputs = [argument for argument in names if is_output(argument)]
    if not outputs:
        raise UsageError(
            f"no tensor of {name} is called out: nobody has said what it writes",
            where=where,
            next_step="add the output to the shapes of every row, as out",
        )
    inputs = [argument for argument in names if argument not in outputs]
    options = list(dict.fromkeys(option for row in rows for option in row.options))
    return {
        "name": name,
        "summary": f"{name} of {as_name(folder.resolve().name)}",
        "arguments": [_argument(argument, rows, axes, where) for argument in [*inputs, *outputs]],
        "options": [
            {"name": option, "choices": _distinct([r.options.get(option) for r in rows])}
            for option in options
        ]
        or None,
    }


def is_output(name: str) -> bool:
    """By what it is called, since their rows say it in no other way.

    >>> is_output("out"), is_output("y_out"), is_output("x")
    (True, True, False)
    """
    return (
        name in {"out", "output"} or name.startswith(("out_", "output_")) or name.endswith("_out")
    )


def _distinct(values: list[Any]) -> list[Any]:
    return list({(type(value), value): value for value in values}.values())


def _argument(
    name: str, rows: list[Row], axes: dict[tuple[int, ...], str], where: str
) -> dict[str, Any]:
    specs = [spec for row in rows if (spec := row.tensors.get(name)) is not None]
    if not specs:
        return {"name": name, "role": "input", "shape": [], "dtypes": ["float32"], "optional": True}
    if len({len(spec.shape) for spec in specs}) > 1:
        raise UsageError(
            f"{name} has another number of axes from row to row",
            where=where,
            next_step="make them tasks of their own",
        )
    shape = []
    for extents in zip(*(spec.shape for spec in specs), strict=True):
        same = len(set(extents)) == 1
        shape.append(extents[0] if same else axes.setdefault(extents, f"n{len(axes)}"))
    return {
        "name": name,
        "role": "output" if is_output(name) else "input",
        "shape": shape,
        "dtypes": sorted({spec.dtype.value for spec in specs}),
        "optional": True if len(specs) < len(rows) else None,
    }
