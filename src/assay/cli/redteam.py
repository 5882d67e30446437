"""`assay redteam`: known ways to cheat, tried on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._progress import progress_bar
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.ledger import default_path
from assay.redteam.evaluator import read_command
from assay.redteam.suite import Contest
from assay.redteam.suite import Suite
from assay.redteam.suite import choose
from assay.redteam.suite import run_contest
from assay.redteam.suite import run_suite


def redteam(
    kind: Annotated[
        str | None,
        typer.Option(
            "--class", help="timing, channel, replay, semantic, filter or protocol; all by default."
        ),
    ] = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="One attack by its name; may be repeated.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: cpu, cuda, cuda:1.")] = "cpu",
    evaluator: Annotated[
        str | None,
        typer.Option(help="Your own evaluator instead: a command with {solution} in it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try every known way to cheat: on a plain evaluator, then here."""
    command = None if evaluator is None else read_command(evaluator)
    attacks = choose(kind, attack or (), device)
    done: Suite | Contest
    with progress_bar(as_json) as report:
        if command is None:
            done, row = run_suite(attacks, device, default_path(), report)
        else:
            done, row = run_contest(attacks, device, command, default_path(), report)
    if as_json:
        print_json({**done.content(), "ledger_id": row.id})
    else:
        _show(done)
        print(f"ledger id {row.id}")
    raise typer.Exit(done.exit_status)


def _show(done: Suite | Contest) -> None:
    if isinstance(done, Contest):
        print_table(
            ("attack", "class", "your evaluator", "what it said"),
            [
                (attack.name, attack.kind, fight.word, fight.result.said if fight.result else "")
                for attack, fight in done.fights
            ],
        )
        beaten = sum(fight.beaten for _, fight in done.fights)
        print(f"{beaten} of {len(done.fights)} attacks beat it")
        return
    print_table(
        ("attack", "class", "plain evaluator", "here", "what stopped it"),
        [
            (
                trial.attack.name,
                trial.attack.kind,
                trial.plain.word,
                trial.end.word,
                trial.attack.file.stopped_by if trial.stopped else "NOTHING",
            )
            for trial in done.trials
        ],
    )
    stopped = sum(trial.stopped for trial in done.trials)
    beaten = sum(trial.plain.beaten for trial in done.trials)
    tried = len(done.trials)
    print(f"{stopped} of {tried} attacks stopped here; the plain evaluator fell to {beaten}")
