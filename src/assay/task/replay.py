"""Replay: a claim measured again here. Only this proves it; all else is consistency."""

from __future__ import annotations

import enum
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.device import open_judging_device
from assay.device.environment import environment
from assay.judge.bundle import BASELINE
from assay.judge.bundle import CANDIDATE
from assay.judge.bundle import TASK
from assay.judge.bundle_verify import OpenBundle
from assay.judge.bundle_verify import open_bundle
from assay.judge.case import Case
from assay.judge.referee import Referee
from assay.judge.referee import Report
from assay.spec.baseline import WheelBaseline
from assay.spec.environment import Provenance
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.lock import LOCK_FILE
from assay.spec.noun import Noun
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import Budget
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.task.judging import make_case
from assay.task.load import LoadedSolution
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task


class Agreement(enum.StrEnum):
    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    CANNOT_TELL = "cannot_tell"

    @property
    def exit_status(self) -> ExitStatus:
        return _EXIT[self]


_EXIT = {
    Agreement.AGREES: ExitStatus.YES,
    Agreement.CONTRADICTS: ExitStatus.NO,
    Agreement.CANNOT_TELL: ExitStatus.CANNOT_TELL,
}
# A host may be to blame for these; for a wrong answer it may not.
_HOST_MAY_BE_TO_BLAME = frozenset(
    {
        Status.BUILD_ERROR,
        Status.IMPORT_ERROR,
        Status.CRASH,
        Status.TIMEOUT,
        Status.OUT_OF_MEMORY,
    }
)


class Replay(Noun):
    """What was claimed, what was found here, and whether the two agree."""

    agreement: Agreement
    claimed: TaskVerdict
    found: TaskVerdict
    hardware: tuple[str, ...] = ()
    """How this host differs from the one that was judged on; empty where it does not."""

    @property
    def intervals_meet(self) -> bool | None:
        """Whether the two geomeans could be one; None where either has none."""
        if self.claimed.interval is None or self.found.interval is None:
            return None
        low = max(self.claimed.interval[0], self.found.interval[0])
        return low <= min(self.claimed.interval[1], self.found.interval[1])


def agreement(claimed: Status, found: Status) -> Agreement:
    """The same verdict agrees. The opposite one contradicts, and so does a wrong answer from a
    candidate that was claimed to be right; the reverse does not, since another exam asked other
    questions."""
    if claimed is found:
        return Agreement.AGREES
    if {claimed, found} == {Status.FASTER, Status.SLOWER}:
        return Agreement.CONTRADICTS
    wrong_here = not found.is_timed and found not in _HOST_MAY_BE_TO_BLAME
    if claimed.is_timed and wrong_here:
        return Agreement.CONTRADICTS
    return Agreement.CANNOT_TELL


def replay(path: Path, *, budget: Budget = DEFAULT_BUDGET, report: Report | None = None) -> Replay:
    """Judge a bundle's candidate against its baseline again, by its own rules and lanes."""
    bundle = open_bundle(path)
    case = _case(bundle)
    lanes = tuple(dict.fromkeys([Lane.THROUGHPUT, *(row.lane for row in bundle.claim.rows)]))
    judged = Referee(
        case,
        rules=bundle.rules,
        budget=budget,
        lanes=lanes,
        device=bundle.provenance.device.kind,
        report=report,
    ).judge()
    return Replay(
        agreement=agreement(bundle.claim.verdict, judged.verdict.verdict),
        claimed=bundle.claim,
        found=judged.verdict,
        hardware=hardware_differences(bundle.provenance),
    )


def hardware_differences(provenance: Provenance) -> tuple[str, ...]:
    """What another processor or core count could explain."""
    here, there = environment(), provenance.environment
    device = open_judging_device(provenance.device.kind).identity
    pairs = {
        "processor": (there.processor, here.processor),
        "machine": (there.machine, here.machine),
        "cores": (there.cores, here.cores),
        "cache bytes": (provenance.device.cache_bytes, device.cache_bytes),
    }
    return tuple(
        f"{name}: {was} there, {now} here" for name, (was, now) in pairs.items() if was != now
    )


def _case(bundle: OpenBundle) -> Case:
    """The bundle's sources by way of a folder, so that they are read as any task's are."""
    with tempfile.TemporaryDirectory(prefix="assay-replay-") as name:
        folder = Path(name)
        _unpack(bundle.entries, folder)
        task = load_task(folder / TASK)
        candidate = load_solution(folder / CANDIDATE, task.task)
        rival = _rival(folder / BASELINE, bundle.provenance)
        case = make_case(task, candidate, rival, unadmitted=True)
    # The admission is not in the bundle, so the claim's word on it stands.
    return replace(case, labels=tuple(set(case.labels) & set(bundle.claim.labels)))


def _rival(folder: Path, provenance: Provenance) -> LoadedSolution:
    """The baseline. The files of one out of a wheel are not in a bundle: they are taken from this
    host's own copy of the task, if that has the very same lock."""
    if not (folder / LOCK_FILE).is_file():
        return load_solution(folder)
    with suppress(UsageError):
        task = load_task(provenance.task)
        for baseline in task.task.baselines:
            if isinstance(baseline, WheelBaseline):
                loaded = load_baseline(task, baseline.name)
                if loaded.content_hash == provenance.baseline_hash:
                    return loaded
    raise UsageError(
        "the baseline's files are out of a wheel, which no bundle holds, and not here",
        where=provenance.task,
        next_step=f"assay task snapshot {provenance.task}, of the version that was judged",
    )


def _unpack(entries: Mapping[str, bytes], folder: Path) -> None:
    """Paths were checked when the archive was read: none leaves the folder."""
    for path, data in entries.items():
        if path.split("/")[0] in {TASK, BASELINE, CANDIDATE}:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
