"""SanitizerReport: what the sanitizer's tools said of one sealed solution."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.judge.sanitizer_text import Finding
from assay.judge.sanitizer_text import bare_name
from assay.ledger import Row as LedgerRow
from assay.spec.workload import Row

SANITIZER = "sanitizer"
"""The kind of a ledger row that holds such a report."""
_CUDA = "cuda"


class Tool(enum.StrEnum):
    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


ALL_TOOLS = tuple(Tool)


@dataclass(frozen=True)
class ToolRun:
    """One tool's run over all rows."""

    tool: Tool
    seconds: float
    findings: tuple[Finding, ...]
    errors: int | None
    """How many the tool itself counted; None if it did not get that far."""
    problem: str | None = None
    """Why the run is not a whole one: out of time, no summary, the solution failed."""

    @property
    def printed(self) -> int:
        return sum(finding.count for finding in self.findings)

    @property
    def clean(self) -> bool:
        """Whole, and with nothing found that counts; what was counted but not shown does."""
        return (
            self.problem is None
            and self.errors == self.printed
            and all(finding.excused for finding in self.findings)
        )

    @property
    def verdict(self) -> str:
        """In words, for a table."""
        if self.clean:
            return "clean"
        hidden = (self.errors or 0) - self.printed
        return self.problem or (f"not clean, {hidden} not shown" if hidden else "not clean")

    def content(self) -> dict[str, Any]:
        return {
            "tool": self.tool.value,
            "seconds": round(self.seconds, 3),
            "errors": self.errors,
            "problem": self.problem,
            "clean": self.clean,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
        }


@dataclass(frozen=True)
class SanitizerReport:
    task: str
    candidate: str
    candidate_hash: str
    """Of the sealed solution: what the report is evidence for."""
    device: str
    sanitizer: str
    """The version that the tool names."""
    seed: int
    """What the rows were drawn and filled from."""
    rows: tuple[Row, ...]
    runs: tuple[ToolRun, ...]
    own_kernels: frozenset[str] = frozenset()
    """The kernels among the findings that the solution's own sources name."""
    baseline_hash: str | None = None
    """Of the solution whose findings excuse some of these."""

    @property
    def clean(self) -> bool:
        """Whether every tool that was asked for ran to its end and found nothing."""
        return bool(self.runs) and all(run.clean for run in self.runs)

    @property
    def unfinished(self) -> tuple[Tool, ...]:
        return tuple(run.tool for run in self.runs if run.problem is not None)

    @property
    def findings(self) -> tuple[tuple[Tool, Finding], ...]:
        return tuple((run.tool, finding) for run in self.runs for finding in run.findings)

    @property
    def foreign_tools(self) -> tuple[Tool, ...]:
        """The tools that found something in kernels that are not the solution's own."""
        return tuple(
            run.tool for run in self.runs if any(self._is_foreign(f) for f in run.findings)
        )

    def against(self, baseline: SanitizerReport) -> SanitizerReport:
        """The same report, its findings in foreign kernels excused where the baseline has them.

        A library that both sides call may have its own way with memory; what the solution's own
        kernels do is never excused, and neither is a finding without a kernel.
        """
        known = {(tool, f.kind, f.kernel) for tool, f in baseline.findings}

        def excused(tool: Tool, finding: Finding) -> Finding:
            shared = (tool, finding.kind, finding.kernel) in known
            return dataclasses.replace(finding, excused=shared and self._is_foreign(finding))

        runs = (
            dataclasses.replace(run, findings=tuple(excused(run.tool, f) for f in run.findings))
            for run in self.runs
        )
        return dataclasses.replace(self, runs=tuple(runs), baseline_hash=baseline.candidate_hash)

    def _is_foreign(self, finding: Finding) -> bool:
        return finding.kernel is not None and finding.kernel not in self.own_kernels

    def to_row(self) -> dict[str, Any]:
        """The body of a ledger row of kind SANITIZER."""
        return {
            "task": self.task,
            "candidate": self.candidate,
            "candidate_hash": self.candidate_hash,
            "baseline_hash": self.baseline_hash,
            "device": self.device,
            "sanitizer": self.sanitizer,
            "seed": self.seed,
            "rows": [row.content() for row in self.rows],
            "tools": [run.content() for run in self.runs],
            "clean": self.clean,
        }


def own_kernels(sources: Mapping[str, bytes], findings: Iterable[Finding]) -> frozenset[str]:
    """The kernels whose bare name is a word of some source."""
    words = {word for source in sources.values() for word in re.findall(rb"\w+", source)}
    return frozenset(
        finding.kernel
        for finding in findings
        if finding.kernel is not None and bare_name(finding.kernel).encode() in words
    )


def sanitizer_clean(rows: Iterable[LedgerRow], candidate_hash: str) -> bool | None:
    """For PromotionCase: whether the newest run of every tool on a CUDA device was clean for
    these sources; None where some tool has not run on them."""
    newest: dict[str, bool] = {}
    for row in sorted(rows, key=lambda row: row.time):
        body = row.body
        about = (row.kind, body.get("candidate_hash"), body.get("device"))
        if about == (SANITIZER, candidate_hash, _CUDA):
            newest.update({run["tool"]: run["clean"] is True for run in body["tools"]})
    if any(tool not in newest for tool in ALL_TOOLS):
        return None
    return all(newest[tool] for tool in ALL_TOOLS)
