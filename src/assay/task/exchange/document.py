"""Documents written out: task.toml, solution.toml and workloads.json of an imported task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from assay.spec.documents import parse_document
from assay.spec.noun import Document
from assay.spec.solution import Solution
from assay.spec.task import Task
from assay.spec.workload import Workloads
from assay.task.toml import toml_value

Content = Mapping[str, Any]


def task_text(content: Content, where: str) -> str:
    """`task.toml`; DocumentError if the content is no task."""
    return toml_text(_checked(_without_none(content), Task, where))


def solution_text(content: Content, where: str) -> str:
    return toml_text(_checked(_without_none(content), Solution, where))


def workloads_text(rows: Sequence[Content], source: Sequence[str], where: str) -> str:
    content = _checked({"source": list(source), "rows": list(rows)}, Workloads, where)
    return json.dumps(content, indent=1) + "\n"


def _checked(content: Content, kind: type[Document], where: str) -> dict[str, Any]:
    whole = {"schema": kind.SCHEMA, **content}
    parse_document(whole, kind, where)
    return whole


def _without_none(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, Mapping):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_without_none(part) for part in value]
    return value


def toml_text(content: Content) -> str:
    """Plain keys first, then a table for each table and for each member of a list of tables."""
    plain = {k: v for k, v in content.items() if not _is_table(v) and not _is_tables(v)}
    lines = [f"{key} = {toml_value(value)}" for key, value in plain.items()]
    for key, value in content.items():
        if _is_table(value):
            lines += ["", f"[{key}]", *_keys(value)]
        elif _is_tables(value):
            for part in value:
                lines += ["", f"[[{key}]]", *_keys(part)]
    return "\n".join(lines) + "\n"


def _keys(table: Content) -> list[str]:
    lines = []
    for key, value in table.items():
        if _is_tables(value):
            inner = "".join(f"    {toml_value(part)},\n" for part in value)
            lines.append(f"{key} = [\n{inner}]")
        else:
            lines.append(f"{key} = {toml_value(value)}")
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))
