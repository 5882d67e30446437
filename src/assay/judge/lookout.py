"""Lookout: gathers what a reader should look at in a candidate, beside its verdict.

Nothing that is found here changes a status, a label or an exit status.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.device.runners import RunnerProcess
from assay.device.runners.program import NATIVE
from assay.judge.build import LIBRARY
from assay.judge.case import Contender
from assay.judge.libraries import is_own
from assay.judge.libraries import loaded_libraries
from assay.judge.libraries import names_of
from assay.judge.scan import scan
from assay.judge.scan_text import speaks_to_reviewer
from assay.spec.attention import Finding
from assay.spec.attention import FindingKind
from assay.spec.errors import quote

MOST_FINDINGS = 100
_SOLUTION_FILE = "solution.toml"


class Lookout:
    def __init__(self, candidate: Contender) -> None:
        self._candidate = candidate
        self._built = LIBRARY if candidate.solution.language in NATIVE else None
        self._usual: set[str] = set()
        self._loaded: set[str] = set()
        self._hidden = False

    def look(self, baseline: RunnerProcess, candidate: RunnerProcess) -> None:
        """See what both have loaded by now. Where the baseline's cannot be read, nothing can be
        said; where only the candidate's cannot, it has seen to that."""
        usual, loaded = loaded_libraries(baseline.runner), loaded_libraries(candidate.runner)
        if usual is None:
            return
        self._usual |= usual
        self._loaded |= loaded or set()
        self._hidden = self._hidden or (loaded is None and candidate.runner.alive())

    def findings(self) -> tuple[Finding, ...]:
        """Libraries first: they were seen at work."""
        found = (*self._libraries(), *self._note(), *scan(self._written()))
        if len(found) <= MOST_FINDINGS:
            return found
        what = f"{len(found) - MOST_FINDINGS + 1} more findings than are kept"
        last = Finding(file=_SOLUTION_FILE, kind=FindingKind.OBFUSCATION, what=what)
        return (*found[: MOST_FINDINGS - 1], last)

    def _written(self) -> Mapping[str, bytes]:
        """What was written for this task: a wheel's files are pinned, and nobody's claim."""
        sources = self._candidate.sources
        return {path: sources[path] for path in self._candidate.solution.sources}

    def _libraries(self) -> list[Finding]:
        strange = {p for p in self._loaded - self._usual if not is_own(p, self._built)}
        found = [(name, f"loads {name}, which the baseline does not") for name in names_of(strange)]
        if self._hidden:
            found.append((_SOLUTION_FILE, "hides what it has loaded"))
        return [
            Finding(file=quote(name), kind=FindingKind.LOADED_LIBRARY, what=quote(what))
            for name, what in found
        ]

    def _note(self) -> list[Finding]:
        note = self._candidate.solution.note
        if note is None or not speaks_to_reviewer(note):
            return []
        return [Finding(file=_SOLUTION_FILE, kind=FindingKind.REVIEWER, what=quote(note))]
