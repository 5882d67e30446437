"""A trial: one attack against an evaluator that defends itself against nothing, and against Assay.

An attack that the plain evaluator withstands proves nothing when it fails here.
"""

from __future__ import annotations

import enum
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.redteam.attack import Attack
from assay.redteam.attack import Plain
from assay.redteam.attack import Twin
from assay.redteam.evaluator import WIN
from assay.redteam.evaluator import Result
from assay.redteam.evaluator import plain_command
from assay.redteam.evaluator import run_evaluator
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.errors import AssayError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.rules import Budget
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import TaskVerdict
from assay.task.address import TASK_FILE
from assay.task.judging import judge

VICTIMS = Path(__file__).parent / "victim"
BUDGET = Budget(task_seconds=4.0)
"""Enough to call a solution faster that is so by a tenth, on rows this short."""


class Fate(enum.StrEnum):
    """Of an evaluator that was attacked."""

    BEATEN = "beaten"
    HELD = "not beaten"
    OUT_OF_REACH = "out of reach"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Fight:
    """How an evaluator fared against an attack."""

    fate: Fate
    result: Result | None
    """None where it was not tried."""

    @property
    def beaten(self) -> bool:
        return self.fate is Fate.BEATEN

    @property
    def ok(self) -> bool:
        return self.result is not None and self.result.ok

    @property
    def speedup(self) -> float | None:
        return self.result.speedup if self.result is not None else None

    @property
    def word(self) -> str:
        """The fate with its figure, for a table."""
        if self.result is None or (self.fate is Fate.HELD and not self.result.ok):
            return self.fate.value
        if self.result.speedup is None:
            return f"{self.fate}: taken for right"
        return f"{self.fate}: taken for right, {self.result.speedup:.1f}x"

    def content(self) -> dict[str, Any]:
        result = self.result.content() if self.result is not None else None
        return {"fate": self.fate.value, "result": result}


@dataclass(frozen=True)
class End:
    """How a judgement ended."""

    status: Status | None
    """None where there was no verdict."""
    reason: str = ""
    violation: ViolationKind | None = None
    labels: tuple[str, ...] = ()
    ratio: float | None = None

    @property
    def word(self) -> str:
        if self.status is None:
            return f"no verdict: {self.reason}"
        return f"{self.status}: {self.violation}" if self.violation else self.status.value

    def content(self) -> dict[str, Any]:
        return {
            "status": self.status.value if self.status is not None else None,
            "violation": self.violation.value if self.violation is not None else None,
            "reason": self.reason,
            "labels": list(self.labels),
            "ratio": self.ratio,
        }


@dataclass(frozen=True)
class Trial:
    """One attack, tried."""

    attack: Attack
    device: str
    plain: Fight
    end: End
    seconds: float

    @property
    def stopped(self) -> bool:
        """Whether it ended as it must."""
        return self.end.status in self.attack.file.ends

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


def try_attack(
    attack: Attack, device: str = "cpu", *, defences: Defences = ALL_DEFENCES, plain: bool = True
) -> Trial:
    """The attack against the plain evaluator, then against Assay."""
    begun = time.monotonic()
    fight = fight_plain(attack, device) if plain else Fight(Fate.NOT_TRIED, None)
    end = judged(attack.folder, device, defences)
    return Trial(attack, device, fight, end, time.monotonic() - begun)


def try_twin(twin: Twin, device: str = "cpu") -> End:
    """An honest twin, judged as an attack is."""
    return judged(twin.folder, device)


def fight_plain(attack: Attack, device: str = "cpu") -> Fight:
    """The attack against the plain evaluator, unless that has nothing to attack."""
    if attack.file.plain is Plain.OUT_OF_REACH:
        return Fight(Fate.OUT_OF_REACH, None)
    command = plain_command(device.partition(":")[0])
    return fought(attack, run_evaluator(command, attack.folder))


def fought(attack: Attack, result: Result) -> Fight:
    """What a result means: an attack that must be refused has won when it is taken for right, any
    other when it is said to be faster than it is."""
    refused = not any(status.is_timed for status in attack.file.ends)
    faster = result.speedup is not None and result.speedup >= WIN
    return Fight(Fate.BEATEN if result.ok and (refused or faster) else Fate.HELD, result)


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
                budget=BUDGET,
                unadmitted=True,
                device=device,
                defences=defences,
            )
        except AssayError as error:  # of the host or of the baseline: no word on the candidate
            return End(None, str(error))
    return _end_of(stored.judgement.verdict)


def _end_of(verdict: TaskVerdict) -> End:
    deciding = next((row for row in verdict.rows if row.status is verdict.verdict), None)
    reason = (deciding.reason if deciding is not None else None) or verdict.reason
    return End(
        verdict.verdict,
        reason or "",
        deciding.violation if deciding is not None else None,
        verdict.labels,
        verdict.geomean,
    )
