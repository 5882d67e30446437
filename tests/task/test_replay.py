from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.device.cpu import CpuDevice
from assay.judge.bundle_verify import open_bundle
from assay.judge.case import Case
from assay.judge.referee import Judgement
from assay.spec.environment import Environment
from assay.spec.errors import EvidenceError
from assay.spec.errors import UnavailableError
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Budget
from assay.spec.status import Status
from assay.task import load_task
from assay.task.bundle import make_bundle
from assay.task.replay import Agreement
from assay.task.replay import agreement
from assay.task.replay import hardware_differences
from assay.task.replay import replay
from tests.judge.claims import TASK
from tests.judge.claims import crashed
from tests.judge.claims import judged
from tests.judge.claims import provenance_of
from tests.judge.claims import stored


class Here:
    """Stands in for the referee: remembers what it was asked, and finds what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, finds: Callable[[], Judgement]) -> None:
        self.case: Case | None = None
        self.asked: dict[str, Any] = {}
        self._finds = finds
        monkeypatch.setattr("assay.task.replay.Referee", self._referee)

    def _referee(self, case: Case, **asked: Any) -> Here:
        self.case, self.asked = case, asked
        return self

    def judge(self) -> Judgement:
        return self._finds()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    ledger, row = stored(folder / "ledger")
    make_bundle(ledger, row.id, folder / "x.assay")
    return folder / "x.assay"


@pytest.mark.parametrize(
    ("gain", "agrees", "meet"),
    [
        (0.25, Agreement.AGREES, True),
        (0.5, Agreement.AGREES, False),
        (-0.2, Agreement.CONTRADICTS, False),
        (0.0, Agreement.CANNOT_TELL, False),
    ],
)
def test_a_replay_says_whether_it_agrees(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, gain: float, agrees: Agreement, meet: bool
) -> None:
    Here(monkeypatch, lambda: judged(load_task(TASK), gain))
    found = replay(bundle)
    assert found.agreement is agrees
    assert found.claimed.geomean == pytest.approx(1.25, abs=0.005)
    assert found.found.geomean == pytest.approx(1 + gain, abs=0.005)
    assert found.intervals_meet is meet


def test_what_is_judged_is_what_the_bundle_holds(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task(TASK)
    here = Here(monkeypatch, lambda: judged(task))
    before = set(Path(tempfile.gettempdir()).glob("assay-replay-*"))
    replay(bundle, budget=Budget(task_seconds=7.0))
    assert here.case is not None
    claimed = provenance_of(task)
    assert here.case.task_hash == claimed.task_hash
    assert here.case.baseline.sealed.content_hash == claimed.baseline_hash
    assert here.case.candidate.sealed.content_hash == claimed.candidate_hash
    assert here.case.reference == task.reference
    assert here.case.labels == ()
    assert here.asked["rules"] == DEFAULT_RULES
    assert here.asked["budget"] == Budget(task_seconds=7.0)
    assert here.asked["lanes"] == ("throughput",)
    assert set(Path(tempfile.gettempdir()).glob("assay-replay-*")) == before


def test_a_crash_claim_is_replayed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, row = stored(tmp_path / "ledger", crashed(load_task(TASK)))
    make_bundle(ledger, row.id, tmp_path / "x.assay")
    Here(monkeypatch, lambda: crashed(load_task(TASK)))
    found = replay(tmp_path / "x.assay")
    assert (found.agreement, found.intervals_meet) == (Agreement.AGREES, None)


def test_a_bundle_that_does_not_verify_is_not_run(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Here(monkeypatch, lambda: judged(load_task(TASK)))
    damaged = tmp_path / "x.assay"
    damaged.write_bytes(bundle.read_bytes() + b"\0")
    with pytest.raises(EvidenceError, match="not as assay bundle make writes it"):
        replay(damaged)
    assert here.case is None


def test_a_claim_about_a_device_that_is_not_here_is_one_line(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_bundle(bundle)
    device = opened.provenance.device.model_copy(update={"kind": "cuda"})
    provenance = opened.provenance.model_copy(update={"device": device})
    elsewhere = type(opened)(opened.entries, opened.verdict, opened.claim, provenance, opened.rules)
    monkeypatch.setattr("assay.task.replay.open_bundle", lambda path: elsewhere)
    with pytest.raises(UnavailableError, match="cuda"):
        replay(bundle)


def test_every_pair_of_statuses_has_an_answer_and_only_these_contradict() -> None:
    wrong = {
        Status.WRONG_SHAPE,
        Status.WRONG_DTYPE,
        Status.WRONG_STRIDE,
        Status.WRONG_DEVICE,
        Status.WRONG_VALUE,
        Status.NONDETERMINISTIC,
        Status.VIOLATION,
    }
    timed = {Status.FASTER, Status.SAME, Status.SLOWER, Status.UNCLEAR}
    opposite = {(Status.FASTER, Status.SLOWER), (Status.SLOWER, Status.FASTER)}
    for claimed, found in itertools.product(Status, Status):
        said = agreement(claimed, found)
        contradicts = (claimed, found) in opposite or (claimed in timed and found in wrong)
        assert (said is Agreement.CONTRADICTS) == contradicts
        assert (said is Agreement.AGREES) == (claimed is found)


def test_the_exit_status_is_yes_no_and_cannot_tell() -> None:
    assert [kind.exit_status for kind in Agreement] == [0, 1, 2]


def test_other_hardware_is_named() -> None:
    claimed = provenance_of(load_task(TASK))
    same = claimed.model_copy(update={"device": CpuDevice().identity})
    assert hardware_differences(same) == ()
    other: Environment = claimed.environment.model_copy(update={"cores": 96, "processor": "Z80"})
    said = hardware_differences(same.model_copy(update={"environment": other}))
    assert said[0].startswith("processor: Z80 there, ")
    assert said[1].startswith("cores: 96 there, ")
