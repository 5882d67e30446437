"""The tables of docs/redteam.md: how every attack and every twin ended, machine by machine.

They come from the newest run of the whole suite that `evidence/ledger` has for each machine.
`ASSAY_HOME=evidence assay redteam` puts one there.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from assay.ledger import Ledger
from assay.ledger import Row
from assay.redteam.outcome import End
from assay.redteam.outcome import Fight
from assay.redteam.record import SUITE
from assay.redteam.record import TRIAL
from assay.redteam.record import TWIN
from benchmarks.record import EVIDENCE

NOTHING = "No run of the whole suite is on record yet.\n"

Render = Callable[[Row, Mapping[str, Row]], str]


def redteam_table() -> str:
    """Attack, class, plain evaluator, how it ended, what stopped it; a table for each machine."""
    return _by_machine(_attacks)


def redteam_twins_table() -> str:
    """Honest twin, what it looks like, how it ended, whether it was refused or mislabelled."""
    return _by_machine(_twins)


def _by_machine(render: Render) -> str:
    ledger = Ledger(EVIDENCE)
    runs = _whole_runs(ledger)
    rows = {row.id: row for kind in (TRIAL, TWIN) for row in ledger.rows(kind)}
    return "\n".join(render(run, rows) for run in runs) or NOTHING


def _whole_runs(ledger: Ledger) -> list[Row]:
    """The newest run of all attacks on each machine, by the device's and the processor's name."""
    newest: dict[tuple[str, str, str], Row] = {}
    for row in sorted(ledger.rows(SUITE), key=lambda row: row.time):
        if row.body.get("whole"):
            machine = row.body["machine"]
            newest[machine["device"], machine["processor"], machine["host"]] = row
    return [newest[key] for key in sorted(newest)]


def _attacks(run: Row, rows: Mapping[str, Row]) -> str:
    shown = []
    for name in run.body["trials"]:
        body = rows[name].body
        end = End.read(body["end"])
        stopped = body["stopped"] and not end.disturbed
        stopper = body["stopped_by"] if stopped else _unstopped(end)
        plain = Fight.read(body["plain"]).word
        shown.append([f"`{body['attack']}`", body["class"], plain, end.word, stopper])
    heads = ["attack", "class", "plain evaluator", "here", "what stopped it"]
    counts = run.body
    return (
        f"{_title(run)}\n\n{_markdown(heads, shown)}\n"
        f"{counts['stopped']} of {counts['attacks']} stopped, {counts['disturbed']} unclear on a "
        f"disturbed host; the plain evaluator fell to {counts['plain_beaten']}, "
        f"{counts['plain_out_of_reach']} out of its reach. {_source(run)}\n"
    )


def _unstopped(end: End) -> str:
    return "not known" if end.disturbed or end.status is None else "NOTHING"


def _twins(run: Row, rows: Mapping[str, Row]) -> str:
    shown = []
    for name in run.body["twin_trials"]:
        body = rows[name].body
        word = "no" if body["accepted"] else body["word"]
        end = End.read(body["end"]).word
        shown.append([f"`{body['twin']}`", body["looks_like"], end, word])
    heads = ["twin", "looks like", "here", "refused or mislabelled"]
    return (
        f"{_title(run)}\n\n{_markdown(heads, shown)}\n"
        f"{run.body['twins_accepted']} of {run.body['twins']} accepted, "
        f"{run.body['twins_disturbed']} of them unclear on a disturbed host. {_source(run)}\n"
    )


def _title(run: Row) -> str:
    machine: dict[str, Any] = run.body["machine"]
    if machine["device"].startswith(machine["processor"]):
        return f"**{machine['processor']}**, {machine['cores']} cores"
    return f"**{machine['device']}**, beside {machine['cores']} cores of {machine['processor']}"


def _source(run: Row) -> str:
    return f"Ledger id `{run.id}`, {run.time[:10]}."


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
