"""Writes the tables of the docs from the ledger: no figure in them is typed by hand.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. `make tables` renews them all, and
a test fails when one of them differs from what the ledger says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.ledger import Row
from benchmarks.cuda_tables import cuda_table
from benchmarks.cuda_tables import twins_table
from benchmarks.markdown import markdown
from benchmarks.record import newest
from benchmarks.redteam_tables import redteam_table
from benchmarks.redteam_tables import redteam_twins_table
from benchmarks.survey_tables import survey_tables

DOCUMENTS = (
    "README.md",
    "docs/statistics.md",
    "docs/ledger.md",
    "docs/measurement.md",
    "docs/redteam.md",
    "docs/results/h200-baselines.md",
)
_PLACE = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def _source(row: Row) -> str:
    return f"\nLedger id `{row.id}`, {row.time[:10]}.\n"


def rules_table() -> str:
    row = newest("rules")
    results: dict[str, dict[str, dict[str, float]]] = row.body["results"]
    gains = list(next(iter(results.values())))
    heads = ["rule", *("A/A (false)" if g == "0.0" else f"true {float(g):.1%}" for g in gains)]
    shown = [
        [name, *(f"{by_gain[gain]['faster']:.3f}" for gain in gains)]
        for name, by_gain in results.items()
    ]
    mine = results["assay, default budget"]["0.0"]
    note = (
        f"\nOurs under A/A: FASTER {mine['faster']:.2%}, SLOWER {mine['slower']:.2%}, "
        f"SAME {mine['same']:.2%}, UNCLEAR {mine['unclear']:.2%} of {row.body['runs']} runs.\n"
    )
    return markdown(heads, shown) + note + _source(row)


def precision_table() -> str:
    row = newest("precision")
    rows: list[dict[str, Any]] = row.body["rows"]
    gains = [key for key in rows[0] if key.startswith("faster at ")]
    heads = ["batch", "budget a row", "half width", "processes", *gains, "A/A told apart"]
    shown = [
        [
            f"{entry['batch'] * 1000:.0f} ms",
            f"{entry['seconds']:.0f} s",
            f"{entry['half width']:.2%}",
            f"{3 * entry['generations']:.0f}",
            *(f"{entry[gain]:.2f}" for gain in gains),
            f"{entry['A/A told apart']:.3f}",
        ]
        for entry in rows
    ]
    return markdown(heads, shown) + _source(row)


TABLES: dict[str, Callable[[], str]] = {
    "rules": rules_table,
    "precision": precision_table,
    "cuda": cuda_table,
    "twins": twins_table,
    "redteam": redteam_table,
    "redteam-twins": redteam_twins_table,
    **survey_tables(),
}


def renewed(text: str) -> str:
    """The document with every table as the ledger has it now."""

    def table(match: re.Match[str]) -> str:
        return match[1] + TABLES[match["name"]]() + match[4]

    return _PLACE.sub(table, text)


def main() -> int:
    for name in DOCUMENTS:
        path = Path(name)
        path.write_text(renewed(path.read_text()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
