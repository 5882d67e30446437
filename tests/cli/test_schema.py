from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.schema import EVERY_DOCUMENT
from assay.spec.noun import Document
from assay.spec.schema import schema_of
from assay.spec.schema import write_schemas

COMMITTED = Path(__file__).parents[2] / "docs" / "schema"


@pytest.mark.parametrize("kind", EVERY_DOCUMENT)
def test_the_committed_schema_is_what_the_code_says(kind: type[Document]) -> None:
    committed = json.loads((COMMITTED / f"{kind.SCHEMA}.json").read_text())
    assert committed == schema_of(kind), "run `make schema` and commit the difference"


def test_no_committed_schema_is_left_over(tmp_path: Path) -> None:
    written = {path.name for path in write_schemas(tmp_path, EVERY_DOCUMENT)}
    assert {path.name for path in COMMITTED.iterdir()} == written


def test_a_schema_demands_its_own_name_and_forbids_unknown_keys() -> None:
    for kind in EVERY_DOCUMENT:
        schema = schema_of(kind)
        assert schema["properties"]["schema"] == {"const": kind.SCHEMA, "type": "string"}
        assert "schema" in schema["required"]
        assert schema["additionalProperties"] is False
