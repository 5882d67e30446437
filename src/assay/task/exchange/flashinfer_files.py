"""Which files of a FlashInfer-Bench trace set belong to one definition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange.flashinfer_form import Definition
from assay.task.exchange.flashinfer_form import ForeignSolution
from assay.task.exchange.flashinfer_form import Trace
from assay.task.exchange.flashinfer_form import Workload
from assay.task.exchange.flashinfer_form import read_part
from assay.task.exchange.form import is_definition
from assay.task.exchange.form import json_of
from assay.task.exchange.form import read_text

_DEFINITIONS = "definitions"
_LARGEST_LINES = 64 * 2**20


@dataclass(frozen=True)
class TraceSet:
    definition: Definition
    path: Path
    """Of the definition."""
    root: Path
    """What paths of stored tensors are relative to."""
    workloads: tuple[Workload, ...]
    solutions: tuple[ForeignSolution, ...]


def trace_set(path: Path) -> TraceSet:
    """A definition's file or a folder that holds one, with its workloads and solutions around."""
    file = _definition_file(path) if path.is_dir() else path
    definition = read_part(json_of(file), Definition, quote(file))
    root = path if path.is_dir() else _root_of(file)
    workloads = tuple(_workloads(root, definition.name))
    if not workloads:
        raise UsageError(
            f"there is no workload of {quote(definition.name)}",
            where=quote(root),
            next_step="put its .jsonl beside the definition: a task is judged on its rows",
        )
    solutions = tuple(_solutions(root, definition.name))
    return TraceSet(definition, file, root, workloads, solutions)


def _definition_file(folder: Path) -> Path:
    found = [path for path in sorted(folder.rglob("*.json")) if is_definition(path)]
    if len(found) != 1:
        shown = ", ".join(quote(path.name) for path in found[:4])
        raise UsageError(
            f"holds {len(found)} definitions{': ' if shown else ''}{shown}",
            where=quote(folder),
            next_step="name the file of one",
        )
    return found[0]


def _root_of(file: Path) -> Path:
    """The folder above `definitions`, or the definition's own."""
    folder = file.resolve().parent
    above = [parent.parent for parent in (folder, *folder.parents) if parent.name == _DEFINITIONS]
    return above[0] if above else folder


def _workloads(root: Path, definition: str) -> Iterator[Workload]:
    seen: set[str] = set()
    for path in sorted(root.rglob("*.jsonl")):
        for number, content in _lines(path):
            if not isinstance(content, dict) or content.get("definition") != definition:
                continue
            workload = read_part(content, Trace, f"{quote(path)}:{number}").workload
            if workload.uuid not in seen:
                seen.add(workload.uuid)
                yield workload


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(read_text(path, _LARGEST_LINES).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not JSON: {quote(error)}", where=f"{quote(path)}:{number}") from None


def _solutions(root: Path, definition: str) -> Iterator[ForeignSolution]:
    for path in sorted(root.rglob("*.json")):
        try:
            content = json_of(path)
        except UsageError:
            continue  # some other file that lies there
        if isinstance(content, dict) and {"spec", "sources"} <= set(content):
            solution = read_part(content, ForeignSolution, quote(path))
            yield from (solution,) if solution.definition == definition else ()
