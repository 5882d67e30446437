"""The suite: attacks and honest twins one after another, each on record as soon as it has ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.device.environment import environment
from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import Writer
from assay.redteam.attack import Attack
from assay.redteam.attack import AttackClass
from assay.redteam.attack import Twin
from assay.redteam.find import named
from assay.redteam.find import shipped_attacks
from assay.redteam.find import shipped_twins
from assay.redteam.outcome import Fate
from assay.redteam.outcome import Fight
from assay.redteam.record import Record
from assay.redteam.trial import Trial
from assay.redteam.trial import TwinTrial
from assay.redteam.trial import fight_plain
from assay.redteam.trial import judge_control
from assay.redteam.trial import try_attack
from assay.redteam.trial import twin_trial
from assay.redteam.trial import victim_of
from assay.spec.errors import AssayError
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.errors import quote

Report = Callable[[Progress], None]

_CORES_A_FIGHT = 4


class SuiteInterruptedError(AssayError):
    """The user stopped the suite; what was tried until then is on record."""

    exit_status = ExitStatus.INTERRUPTED


@dataclass(frozen=True)
class Suite:
    """Attacks and twins tried here, each with how it ended."""

    device: str
    trials: tuple[Trial, ...]
    twins: tuple[TwinTrial, ...] = ()

    @property
    def exit_status(self) -> ExitStatus:
        """0 when every attack ended as it must and every twin was accepted, 1 when one did or was
        not, 2 when it is not known of some."""
        through = any(not (trial.stopped or trial.open) for trial in self.trials)
        if through or any(t.refused or t.wrong_labels for t in self.twins):
            return ExitStatus.NO
        if any(t.open for t in self.trials) or any(t.end.status is None for t in self.twins):
            return ExitStatus.CANNOT_TELL
        return ExitStatus.YES

    def counts(self) -> dict[str, Any]:
        fates = [trial.plain.fate for trial in self.trials]
        return {
            "attacks": len(self.trials),
            "stopped": sum(trial.stopped and not trial.open for trial in self.trials),
            "disturbed": sum(trial.stopped and trial.open for trial in self.trials),
            "no_verdict": sum(trial.end.status is None for trial in self.trials),
            "plain_beaten": fates.count(Fate.BEATEN),
            "plain_out_of_reach": fates.count(Fate.OUT_OF_REACH),
            "twins": len(self.twins),
            "twins_accepted": sum(trial.accepted for trial in self.twins),
            "twins_disturbed": sum(trial.end.disturbed for trial in self.twins),
            "whole": _names(self.trials) == {attack.name for attack in _fit(self.device)},
        }

    def rows(self) -> dict[str, list[str]]:
        """The ids of the rows that a closing row names."""
        return {
            "trials": [trial.ledger_id for trial in self.trials],
            "twin_trials": [trial.ledger_id for trial in self.twins],
        }

    def content(self) -> dict[str, Any]:
        """All of it, for a reader who has no ledger."""
        return {
            **self.counts(),
            "trials": [{**t.content(), "ledger_id": t.ledger_id} for t in self.trials],
            "twin_trials": [{**t.content(), "ledger_id": t.ledger_id} for t in self.twins],
        }


def select(kind: str | None, names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of a class, or those named, whatever they run on."""
    known = shipped_attacks()
    if kind is not None and kind not in list(AttackClass):
        raise UsageError(
            f"no class of attacks is called {quote(kind)}",
            where="--class",
            next_step=f"one of {', '.join(AttackClass)}",
        )
    for name in names:
        named(name, known, "attack", where="--attack")
    return tuple(
        attack
        for attack in known
        if kind in (None, attack.kind) and (not names or attack.name in names)
    )


def choose(kind: str | None, names: Sequence[str], device: str) -> tuple[Attack, ...]:
    """Of those, the ones that can run on a device."""
    victim_of(device)
    fit = _kind_of(device)
    chosen = tuple(attack for attack in select(kind, names) if fit in attack.file.devices)
    if not chosen:
        raise UsageError(f"no such attack runs on {quote(device)}")
    return chosen


def choose_twins(device: str) -> tuple[Twin, ...]:
    """The honest twins that can run on a device."""
    fit = _kind_of(device)
    return tuple(twin for twin in shipped_twins() if fit in twin.file.devices)


def run_suite(
    attacks: Iterable[Attack],
    device: str,
    ledger: Path,
    report: Report,
    *,
    twins: Iterable[Twin] = (),
    resume: bool = False,
) -> tuple[Suite, Row]:
    """Every attack against the plain evaluator and against Assay, then every twin, then once more
    those whose end a disturbed host has hidden; with `resume` only what is not on record."""
    with Ledger(ledger).writer(environment()) as writer:
        record = Record(Ledger(ledger), device)
        run = _Run(device, writer, record, resume, report, tuple(attacks), tuple(twins))
        try:
            suite = run.whole()
        except KeyboardInterrupt:
            raise SuiteInterruptedError(
                f"interrupted with {run.done} of {run.total} on record",
                next_step="the same command with --resume goes on from there",
            ) from None
        return suite, record.close(writer, {**suite.counts(), **suite.rows()})


@dataclass
class _Run:
    """One run of the suite, as far as it has come."""

    device: str
    writer: Writer
    record: Record
    resume: bool
    report: Report
    attacks: tuple[Attack, ...]
    twins: tuple[Twin, ...]
    done: int = 0
    quiet: bool = True
    """Whether no control has been disturbed yet."""

    @property
    def total(self) -> int:
        return len(self.attacks) + len(self.twins)

    def whole(self) -> Suite:
        trials = self._trials()
        twins = [self._twin(twin) for twin in self.twins]
        for index, trial in enumerate(trials):
            if trial.stopped and trial.open:
                trials[index] = self._again(trial)
        for index, honest in enumerate(twins):
            if honest.end.disturbed:
                self._say(f"{honest.twin.name} again")
                again = twin_trial(honest.twin, self.device)
                twins[index] = self.record.keep_twin(self.writer, again)
        self.report(Progress(self.total, self.total, "done"))
        return Suite(self.device, tuple(trials), tuple(twins))

    def _trials(self) -> list[Trial]:
        """A few attacks at a time: side by side on the plain evaluator, whose bar for a win no
        company reaches, then one by one before the judge."""
        trials: list[Trial] = []
        few = max(1, len(os.sched_getaffinity(0)) // _CORES_A_FIGHT)
        for first in range(0, len(self.attacks), few):
            attacks = self.attacks[first : first + few]
            known = {a.name: self.record.trial(a) for a in attacks} if self.resume else {}
            fights = self._fights([a for a in attacks if known.get(a.name) is None])
            trials += [known.get(a.name) or self._trial(a, fights[a.name]) for a in attacks]
            self.done = len(trials)
        return trials

    def _fights(self, attacks: Sequence[Attack]) -> dict[str, Fight]:
        if not attacks:
            return {}
        pool = ThreadPoolExecutor(len(attacks))
        try:
            begun = {a.name: pool.submit(fight_plain, a, self.device) for a in attacks}
            return {name: fight.result() for name, fight in begun.items()}
        finally:
            pool.shutdown(cancel_futures=True)

    def _trial(self, attack: Attack, fight: Fight) -> Trial:
        self._say(attack.name)
        trial = self.record.keep(self.writer, try_attack(attack, self.device, fight=fight))
        self.done += 1
        return trial

    def _twin(self, twin: Twin) -> TwinTrial:
        self._say(twin.name)
        trial = self.record.twin(twin) if self.resume else None
        if trial is None:
            trial = self.record.keep_twin(self.writer, twin_trial(twin, self.device))
        self.done += 1
        return trial

    def _again(self, first: Trial) -> Trial:
        """A second try. Where that is disturbed too, a control says by whom: the baseline judged
        against itself right after."""
        self._say(f"{first.attack.name} again")
        second = replace(try_attack(first.attack, self.device, plain=False), plain=first.plain)
        if second.open and self.quiet:
            control = judge_control(self.device)
            self.quiet = control.status is not None and not control.disturbed
            if self.quiet:
                reason = f"{second.end.reason}; the baseline right after it was not disturbed"
                second = replace(second, end=replace(second.end, reason=reason, disturbed=False))
        return self.record.keep(self.writer, second)

    def _say(self, label: str) -> None:
        self.report(Progress(self.done, self.total, label))


def _kind_of(device: str) -> str:
    return device.partition(":")[0]


def _fit(device: str) -> list[Attack]:
    return [attack for attack in shipped_attacks() if _kind_of(device) in attack.file.devices]


def _names(trials: Iterable[Trial]) -> set[str]:
    return {trial.attack.name for trial in trials}
