"""JSON Schema of every document, for editors and for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.spec.environment import Environment
from assay.spec.environment import Provenance
from assay.spec.lock import BaselineLock
from assay.spec.noun import Document
from assay.spec.rules import Rules
from assay.spec.solution import Solution
from assay.spec.task import Task
from assay.spec.verdict import TaskVerdict
from assay.spec.workload import Workloads

DOCUMENTS: tuple[type[Document], ...] = (
    Task,
    Workloads,
    Solution,
    BaselineLock,
    Rules,
    TaskVerdict,
    Provenance,
    Environment,
)


def schema_of(kind: type[Document]) -> dict[str, Any]:
    """The JSON Schema of a document, its own `schema` key included."""
    schema = kind.model_json_schema()
    key = {"const": kind.SCHEMA, "type": "string"}
    schema["properties"] = {"schema": key, **schema["properties"]}
    schema["required"] = ["schema", *schema.get("required", [])]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": kind.SCHEMA,
        **schema,
    }


def write_schemas(folder: Path, kinds: Sequence[type[Document]] = DOCUMENTS) -> list[Path]:
    """Write one file per document and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in kinds:
        path = folder / f"{kind.SCHEMA}.json"
        path.write_text(json.dumps(schema_of(kind), indent=2) + "\n")
        written.append(path)
    return written
