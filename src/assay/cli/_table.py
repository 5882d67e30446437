"""Plain tables and JSON, the same for every verb."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from assay.cli._show import terminal
from assay.spec.errors import quote


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Only the last column gives way when the terminal is narrow; a pipe has all the room."""
    values = [list(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in values]
    widths = [
        max(map(cell_len, column)) for column in zip(map(quote, columns), *cells, strict=True)
    ]
    console = terminal()
    widths[-1] = max(1, min(widths[-1], console.width - sum(widths[:-1]) - 2 * len(widths) + 2))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        numeric = bool(values) and all(isinstance(row[index], int | float) for row in values)
        table.add_column(
            Text(quote(name)),
            justify="right" if numeric else "left",
            overflow="ellipsis",
            no_wrap=True,
            width=widths[index],
        )
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return quote(value)
