"""A trial: one attack against an evaluator that defends itself against nothing, and against Assay.

An attack that the plain evaluator withstands proves nothing when it fails here.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.redteam.attack import Attack
from assay.redteam.attack import Plain
from assay.redteam.attack import Twin
from assay.redteam.evaluator import plain_command
from assay.redteam.evaluator import run_evaluator
from assay.redteam.outcome import End
from assay.redteam.outcome import Fate
from assay.redteam.outcome import Fight
from assay.redteam.outcome import fought
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.errors import AssayError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.rules import Budget
from assay.task.address import TASK_FILE
from assay.task.judging import judge
from assay.task.load import load_baseline
from assay.task.load import load_task

VICTIMS = Path(__file__).parent / "victim"
BUDGETS = {"cpu": Budget(task_seconds=4.0), "cuda": Budget(task_seconds=12.0)}
"""Enough to call a solution faster that is so by a tenth, on rows this short: batches of a GPU are
longer."""
OTHERS_LABELS = (
    "task not admitted",
    "one thread a side",
    "weaker isolation",
    "clock limited by",
    "clocks not watched",
    "other processes",
    "candidate: returns",
    "prepare step timed apart",
)
"""How labels begin that speak of the task, the host and the device, or that repeat what a solution
says of itself; a judgement that puts any other one on an honest twin mislabels it."""


@dataclass(frozen=True)
class Trial:
    """One attack, tried."""

    attack: Attack
    device: str
    plain: Fight
    end: End
    seconds: float
    ledger_id: str = ""

    @property
    def stopped(self) -> bool:
        """Whether it ended as it must."""
        return self.end.status in self.attack.file.ends

    @property
    def open(self) -> bool:
        """Whether it is not known how it ends: no verdict, or one that a disturbed host forced."""
        return self.end.status is None or (self.stopped and self.end.disturbed)

    @property
    def loaded(self) -> bool:
        """Whether the attack has shown that it works where nothing stops it."""
        return self.plain.beaten or self.attack.file.plain is Plain.OUT_OF_REACH

    def content(self) -> dict[str, Any]:
        return {
            "attack": self.attack.name,
            "class": self.attack.kind.value,
            "exploits": list(self.attack.file.exploits),
            "device": self.device,
            "plain": self.plain.content(),
            "end": self.end.content(),
            "stopped": self.stopped,
            "stopped_by": self.attack.file.stopped_by,
            "defence": self.attack.file.defence,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class TwinTrial:
    """One honest twin, judged."""

    twin: Twin
    device: str
    end: End
    seconds: float
    ledger_id: str = ""

    @property
    def wrong_labels(self) -> tuple[str, ...]:
        return tuple(label for label in self.end.labels if not label.startswith(OTHERS_LABELS))

    @property
    def refused(self) -> bool:
        return self.end.status is not None and self.end.status not in self.twin.file.ends

    @property
    def accepted(self) -> bool:
        return self.end.status in self.twin.file.ends and not self.wrong_labels

    @property
    def word(self) -> str:
        """Accepted, or what is wrong, for a table."""
        if self.accepted:
            return "accepted"
        if self.end.status is None:
            return "no verdict"
        return "REFUSED" if self.refused else f"MISLABELLED: {', '.join(self.wrong_labels)}"

    def content(self) -> dict[str, Any]:
        return {
            "twin": self.twin.name,
            "looks_like": self.twin.file.looks_like,
            "device": self.device,
            "end": self.end.content(),
            "word": self.word,
            "accepted": self.accepted,
            "seconds": round(self.seconds, 3),
        }


def try_attack(
    attack: Attack,
    device: str = "cpu",
    *,
    defences: Defences = ALL_DEFENCES,
    plain: bool = True,
    fight: Fight | None = None,
) -> Trial:
    """The attack against the plain evaluator, unless it has had that fight, then against Assay."""
    begun = time.monotonic()
    if fight is None:
        fight = fight_plain(attack, device) if plain else Fight(Fate.NOT_TRIED, None)
    end = judged(attack.folder, device, defences)
    return Trial(attack, device, fight, end, time.monotonic() - begun)


def try_twin(twin: Twin, device: str = "cpu") -> End:
    """An honest twin, judged as an attack is."""
    return judged(twin.folder, device)


def twin_trial(twin: Twin, device: str = "cpu") -> TwinTrial:
    """The same with how long it took."""
    begun = time.monotonic()
    return TwinTrial(twin, device, try_twin(twin, device), time.monotonic() - begun)


def judge_control(device: str) -> End:
    """The victim's baseline against itself: whether the host itself is quiet."""
    return judged(load_baseline(load_task(victim_of(device))).folder, device)


def fight_plain(attack: Attack, device: str = "cpu") -> Fight:
    """The attack against the plain evaluator, unless that has nothing to attack."""
    if attack.file.plain is Plain.OUT_OF_REACH:
        return Fight(Fate.OUT_OF_REACH, None)
    command = plain_command(device.partition(":")[0])
    return fought(attack, run_evaluator(command, attack.folder))


def victim_of(device: str) -> Path:
    """The task that attacks are tried on, for a kind of device."""
    folder = VICTIMS / device.partition(":")[0]
    if not (folder / TASK_FILE).is_file():
        raise UsageError(f"attacks cannot be tried on {quote(device)}", where="--device")
    return folder


def judged(folder: Path, device: str, defences: Defences = ALL_DEFENCES) -> End:
    """A solution's folder before the judge, on the victim, in a ledger that is thrown away."""
    victim = victim_of(device)
    with tempfile.TemporaryDirectory(prefix="assay-redteam-") as place:
        try:
            stored = judge(
                victim,
                folder,
                ledger=Path(place) / "ledger",
                budget=BUDGETS[device.partition(":")[0]],
                unadmitted=True,
                device=device,
                defences=defences,
            )
        except AssayError as error:  # of the host or of the baseline: no word on the candidate
            return End(None, str(error))
    return End.of(stored.judgement.verdict, timed=bool(stored.judgement.records))
