"""The suite: many attacks one after another, and what came of them on record."""

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
from assay.redteam.attack import AttackClass
from assay.redteam.evaluator import run_evaluator
from assay.redteam.find import named
from assay.redteam.find import shipped_attacks
from assay.redteam.trial import Fate
from assay.redteam.trial import Fight
from assay.redteam.trial import Trial
from assay.redteam.trial import fought
from assay.redteam.trial import try_attack
from assay.redteam.trial import victim_of
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.errors import quote

KIND = "redteam"
"""Of the ledger's row."""

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Suite:
    """Attacks tried here, each with how it ended."""

    device: str
    trials: tuple[Trial, ...]

    @property
    def exit_status(self) -> ExitStatus:
        """0 when every attack ended as it must, 1 when one did not, 2 when some had no verdict."""
        if any(t.end.status is not None and not t.stopped for t in self.trials):
            return ExitStatus.NO
        if any(t.end.status is None for t in self.trials):
            return ExitStatus.CANNOT_TELL
        return ExitStatus.YES

    def content(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "harness_hash": harness_hash(),
            "attacks": len(self.trials),
            "stopped": sum(trial.stopped for trial in self.trials),
            "plain_beaten": sum(trial.plain.beaten for trial in self.trials),
            "plain_out_of_reach": sum(
                trial.plain.fate is Fate.OUT_OF_REACH for trial in self.trials
            ),
            "trials": [trial.content() for trial in self.trials],
        }


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


def choose(kind: str | None, names: Sequence[str], device: str) -> tuple[Attack, ...]:
    """The attacks of a class, or those named, that can run on a device."""
    victim_of(device)
    known = shipped_attacks()
    if kind is not None and kind not in list(AttackClass):
        raise UsageError(
            f"no class of attacks is called {quote(kind)}",
            where="--class",
            next_step=f"one of {', '.join(AttackClass)}",
        )
    for name in names:
        named(name, known, "attack", where="--attack")
    chosen = tuple(
        attack
        for attack in known
        if kind in (None, attack.kind)
        and (not names or attack.name in names)
        and device.partition(":")[0] in attack.file.devices
    )
    if not chosen:
        raise UsageError(f"no such attack runs on {quote(device)}")
    return chosen


def run_suite(
    attacks: Iterable[Attack], device: str, ledger: Path, report: Report
) -> tuple[Suite, Row]:
    """Every attack against the plain evaluator and against Assay."""
    every = tuple(attacks)
    with Ledger(ledger).writer(environment()) as writer:
        trials = []
        for done, attack in enumerate(every):
            report(Progress(done, len(every), attack.name))
            trials.append(try_attack(attack, device))
        report(Progress(len(every), len(every), "done"))
        suite = Suite(device, tuple(trials))
        return suite, writer.append(KIND, suite.content())


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
        return contest, writer.append(KIND, contest.content())
