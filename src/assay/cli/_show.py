"""How verdicts look on a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.spec.status import Status
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict

_PIPE_WIDTH = 10_000
_MOST_FINDINGS = 5
_COLOURS = {
    Status.FASTER: "green",
    Status.SAME: "blue",
    Status.UNCLEAR: "yellow",
}


def terminal() -> Console:
    """The user's terminal; into a pipe or a file, lines are as long as they need to be."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def show_verdict(console: Console, verdict: TaskVerdict) -> None:
    """The headline, then a table of rows. On a narrow terminal only row names are folded."""
    console.print(headline(verdict), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("row", overflow="fold")
    table.add_column("lane", no_wrap=True)
    for name in ("baseline", "candidate", "ratio", "interval", "of twin"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in verdict.rows:
        table.add_row(row.row, row.lane, *_numbers(row), _coloured(row.status))
    console.print(table)
    for row in verdict.rows:
        # A failure is already in the headline; what kept a single row from a ratio is not.
        if row.ratio is None and row.status.is_timed and row.reason:
            console.print(f"{row.row} {row.lane}: {escape(row.reason)}", soft_wrap=True)
    for line in attention_lines(verdict):
        console.print(escape(line), soft_wrap=True)


def attention_lines(verdict: TaskVerdict) -> list[str]:
    """What a reader should look at, the first few of it."""
    lines = [f"attention: {finding}" for finding in verdict.attention[:_MOST_FINDINGS]]
    left = len(verdict.attention) - len(lines)
    return [*lines, f"attention: and {left} more"] if left else lines


def headline(verdict: TaskVerdict) -> str:
    """One line: the verdict, the geomean with its interval, the worst row, what weakens it."""
    parts = [f"{verdict.task}: {_coloured(verdict.verdict)}"]
    if verdict.geomean is not None and verdict.interval is not None:
        low, high = verdict.interval
        parts.append(f"geomean {verdict.geomean:.4f} ({low:.4f}-{high:.4f})")
    if verdict.worst is not None:
        parts.append(f"worst {verdict.worst.ratio:.4f} ({verdict.worst.row})")
    parts += [escape(verdict.reason)] if verdict.reason else []
    parts += [f"({escape(label)})" for label in verdict.labels]
    return "  ".join(parts)


def _coloured(status: Status) -> str:
    return f"[bold {_COLOURS.get(status, 'red')}]{status.upper()}[/]"


def _numbers(row: RowVerdict) -> tuple[str, ...]:
    if row.ratio is None or row.interval is None:
        return ("", "", "", "", "")
    share = row.twin_us / row.candidate_us if row.twin_us and row.candidate_us else None
    return (
        _microseconds(row.baseline_us),
        _microseconds(row.candidate_us),
        f"{row.ratio:.4f}",
        f"{row.interval[0]:.4f}-{row.interval[1]:.4f}",
        f"{share:.0%}" if share is not None else "",
    )


def _microseconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f} µs" if value < 10_000 else f"{value / 1000:.2f} ms"
