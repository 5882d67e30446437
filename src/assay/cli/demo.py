"""`assay demo`: the main job from nothing."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress as Bar

from assay.cli._show import show_verdict
from assay.cli._show import terminal
from assay.judge.demo import demonstrate
from assay.judge.sitting import Progress
from assay.ledger import default_path
from assay.spec.errors import ExitStatus


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Judge three scripted candidates, store the evidence, and check it again."""
    with Bar(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("judging")

        def show(progress: Progress) -> None:
            bar.update(
                line, completed=progress.done, total=progress.total, description=progress.label
            )

        shown = demonstrate(default_path(), show)
    if as_json:
        print(json.dumps([verdict.content() for verdict in shown.verdicts.values()], indent=2))
    else:
        console = terminal()
        for name, verdict in shown.verdicts.items():
            show_verdict(console, verdict)
            console.print(f"ledger id {shown.ledger_ids[name]}\n")
        print(
            f"ledger: {shown.check.rows} rows verified, {shown.check.recomputed} verdicts "
            f"computed again from their samples, {len(shown.check.problems)} problems"
        )
    if not shown.check.ok:
        raise typer.Exit(ExitStatus.NO)
