"""How a fight against an evaluator and how a judgement ended, as words and as a ledger has them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import Self

from assay.redteam.attack import Attack
from assay.redteam.evaluator import WIN
from assay.redteam.evaluator import Result
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import TaskVerdict

DISTURBED = "unclear: the host was disturbed"


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

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """The fight that a row of a ledger holds."""
        result = content["result"]
        return cls(Fate(content["fate"]), None if result is None else Result(**result))


def fought(attack: Attack, result: Result) -> Fight:
    """What a result means: an attack that must be refused has won when it is taken for right, any
    other when it is said to be faster than it is."""
    refused = not any(status.is_timed for status in attack.file.ends)
    faster = result.speedup is not None and result.speedup >= WIN
    return Fight(Fate.BEATEN if result.ok and (refused or faster) else Fate.HELD, result)


@dataclass(frozen=True)
class End:
    """How a judgement ended."""

    status: Status | None
    """None where there was no verdict."""
    reason: str = ""
    violation: ViolationKind | None = None
    labels: tuple[str, ...] = ()
    ratio: float | None = None
    disturbed: bool = False
    """Unclear because too many readings were disturbed: no word on what the solution gains."""

    @property
    def word(self) -> str:
        if self.status is None:
            return f"no verdict: {self.reason}"
        if self.disturbed:
            return DISTURBED
        return f"{self.status}: {self.violation}" if self.violation else self.status.value

    def content(self) -> dict[str, Any]:
        return {
            "status": self.status.value if self.status is not None else None,
            "violation": self.violation.value if self.violation is not None else None,
            "reason": self.reason,
            "labels": list(self.labels),
            "ratio": self.ratio,
            "disturbed": self.disturbed,
        }

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """The end that a row of a ledger holds."""
        status, violation = content["status"], content["violation"]
        return cls(
            None if status is None else Status(status),
            content["reason"],
            None if violation is None else ViolationKind(violation),
            tuple(content["labels"]),
            content["ratio"],
            content["disturbed"],
        )

    @classmethod
    def of(cls, verdict: TaskVerdict, *, timed: bool) -> Self:
        """What a verdict says in short; `timed` where the clock ran to the end of the plan."""
        deciding = next((row for row in verdict.rows if row.status is verdict.verdict), None)
        reason = (deciding.reason if deciding is not None else None) or verdict.reason
        # A row of a whole sitting has a measurement unless too little of it was undisturbed.
        unmeasured = any(row.measurement is None for row in verdict.rows)
        return cls(
            verdict.verdict,
            reason or "",
            deciding.violation if deciding is not None else None,
            verdict.labels,
            verdict.geomean,
            timed and unmeasured and verdict.verdict is Status.UNCLEAR,
        )
