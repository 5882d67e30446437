"""A contest: many attacks against an evaluator of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.ledger import Row
from assay.redteam.attack import Attack
from assay.redteam.evaluator import run_evaluator
from assay.redteam.outcome import Fight
from assay.redteam.outcome import fought
from assay.redteam.record import SUITE
from assay.spec.errors import ExitStatus

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Contest:
    """A user's own evaluator, and how it fared against each attack."""

    device: str
    command: tuple[str, ...]
    fights: tuple[tuple[Attack, Fight], ...]

    @property
    def exit_status(self) -> ExitStatus:
        beaten = any(fight.beaten for _, fight in self.fights)
        return ExitStatus.NO if beaten else ExitStatus.YES

    def content(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "harness_hash": harness_hash(),
            "evaluator": list(self.command),
            "attacks": len(self.fights),
            "beaten": sum(fight.beaten for _, fight in self.fights),
            "fights": [
                {"attack": attack.name, "class": attack.kind.value, **fight.content()}
                for attack, fight in self.fights
            ],
        }


def run_contest(
    attacks: Iterable[Attack], device: str, command: Sequence[str], ledger: Path, report: Report
) -> tuple[Contest, Row]:
    """Every attack against a user's own evaluator."""
    every = tuple(attacks)
    with Ledger(ledger).writer(environment()) as writer:
        fights = []
        for done, attack in enumerate(every):
            report(Progress(done, len(every), attack.name))
            fights.append((attack, fought(attack, run_evaluator(command, attack.folder))))
        report(Progress(len(every), len(every), "done"))
        contest = Contest(device, tuple(command), tuple(fights))
        return contest, writer.append(SUITE, contest.content())
