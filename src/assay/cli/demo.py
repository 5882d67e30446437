"""`assay demo`: the main job from nothing."""

from __future__ import annotations

import json

import typer

from assay.cli._options import AsJson
from assay.cli._progress import progress_bar
from assay.cli._show import show_verdict
from assay.cli._show import terminal
from assay.judge.evidence import recheck
from assay.ledger import Ledger
from assay.ledger import default_path
from assay.ledger import verify
from assay.spec.errors import ExitStatus
from assay.task.demo import demonstrate


def demo(as_json: AsJson = False) -> None:
    """Judge a win, a tie and a wrong solution on this CPU, and check the evidence again."""
    console = terminal()
    contents = []
    with progress_bar(as_json) as report:
        for stored in demonstrate(default_path(), report):
            contents.append(stored.judgement.verdict.content())
            if not as_json:
                show_verdict(console, stored.judgement.verdict)
                console.print(f"ledger id {stored.row.id}\n", highlight=False)
    checked = verify(Ledger(default_path()), recompute=recheck)
    if as_json:
        print(json.dumps(contents, indent=2))
    else:
        print(
            f"ledger: {checked.rows} rows verified, {checked.recomputed} verdicts computed again "
            f"from their samples, {len(checked.problems)} problems"
        )
    if not checked.ok:
        raise typer.Exit(ExitStatus.NO)
