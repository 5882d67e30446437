"""Puts a benchmark's figures into the ledger that is committed with the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.ledger import Ledger
from assay.ledger import Row

EVIDENCE = Path("evidence/ledger")


def newest(name: str) -> Row:
    """The last benchmark row of that name."""
    rows = [row for row in Ledger(EVIDENCE).rows("benchmark") if row.body.get("name") == name]
    if not rows:
        raise LookupError(f"no benchmark {name} in {EVIDENCE}; run make bench")
    return max(rows, key=lambda row: row.time)


def record(body: dict[str, Any]) -> str:
    """Append one row of kind `benchmark` and return its id."""
    with Ledger(EVIDENCE).writer(environment()) as writer:
        return writer.append("benchmark", {**body, "harness": harness_hash()}).id
