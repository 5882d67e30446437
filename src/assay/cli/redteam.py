"""`assay redteam`: known ways to cheat, tried on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._progress import progress_bar
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.ledger import default_path
from assay.redteam.attack import Attack
from assay.redteam.contest import Contest
from assay.redteam.contest import run_contest
from assay.redteam.evaluator import read_command
from assay.redteam.suite import Suite
from assay.redteam.suite import choose
from assay.redteam.suite import choose_twins
from assay.redteam.suite import run_suite
from assay.redteam.suite import select
from assay.redteam.trial import Trial


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
    twins: Annotated[
        bool | None,
        typer.Option(help="Judge the honest twins too; by default with all attacks only."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Leave out what this harness has on record here.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the attacks, try none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try every known way to cheat: on a plain evaluator, then here."""
    if listed:
        _list(select(kind, attack or ()), as_json)
        return
    command = None if evaluator is None else read_command(evaluator)
    attacks = choose(kind, attack or (), device)
    if command is not None:
        with progress_bar(as_json) as report:
            contest, row = run_contest(attacks, device, command, default_path(), report)
        if as_json:
            print_json({**contest.content(), "ledger_id": row.id})
        else:
            _show_contest(contest)
            print(f"ledger id {row.id}")
        raise typer.Exit(contest.exit_status)
    wanted = twins if twins is not None else kind is None and not attack
    honest = choose_twins(device) if wanted else ()
    with progress_bar(as_json) as report:
        suite, row = run_suite(attacks, device, default_path(), report, twins=honest, resume=resume)
    if as_json:
        print_json({**row.body, **suite.content(), "ledger_id": row.id})
    else:
        _show(suite)
        print(f"ledger id {row.id}")
    raise typer.Exit(suite.exit_status)


def _list(attacks: Sequence[Attack], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "attack": attack.name,
                    "class": attack.kind.value,
                    "exploits": list(attack.file.exploits),
                    "devices": list(attack.file.devices),
                    "title": attack.file.title,
                }
                for attack in attacks
            ]
        )
        return
    print_table(
        ("attack", "class", "exploits", "devices"),
        [
            (
                attack.name,
                attack.kind,
                ", ".join(map(str, attack.file.exploits)) or "-",
                ", ".join(attack.file.devices),
            )
            for attack in attacks
        ],
    )


def _show_contest(contest: Contest) -> None:
    print_table(
        ("attack", "class", "your evaluator", "what it said"),
        [
            (attack.name, attack.kind, fight.word, fight.result.said if fight.result else "")
            for attack, fight in contest.fights
        ],
    )
    beaten = sum(fight.beaten for _, fight in contest.fights)
    print(f"{beaten} of {len(contest.fights)} attacks beat it")


def _show(suite: Suite) -> None:
    print_table(
        ("attack", "class", "plain evaluator", "here", "what stopped it"),
        [
            (
                trial.attack.name,
                trial.attack.kind,
                trial.plain.word,
                trial.end.word,
                _stopper(trial),
            )
            for trial in suite.trials
        ],
    )
    if suite.twins:
        print_table(
            ("honest twin", "looks like", "here", "refused or mislabelled"),
            [
                (
                    trial.twin.name,
                    trial.twin.file.looks_like,
                    trial.end.word,
                    "no" if trial.accepted else trial.word,
                )
                for trial in suite.twins
            ],
        )
    counts = suite.counts()
    print(
        f"{counts['stopped']} of {counts['attacks']} attacks stopped here; the plain evaluator "
        f"fell to {counts['plain_beaten']}, {counts['plain_out_of_reach']} out of its reach"
    )
    if counts["disturbed"]:
        print(f"{counts['disturbed']} ended unclear because the host was disturbed: no proof")
    if counts["no_verdict"]:
        print(f"{counts['no_verdict']} had no verdict")
    if suite.twins:
        print(
            f"{counts['twins_accepted']} of {counts['twins']} honest twins accepted, "
            f"{counts['twins_disturbed']} of them unclear on a disturbed host"
        )


def _stopper(trial: Trial) -> str:
    if trial.open:
        return "not known"
    return trial.attack.file.stopped_by if trial.stopped else "NOTHING"
