from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from assay.device.environment import environment
from assay.judge.bundle_verify import verify_bundle
from assay.judge.evidence import store
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.rules import DEFAULT_RULES
from assay.task import load_task
from assay.task.bundle import make_bundle
from tests.judge.claims import TASK
from tests.judge.claims import judged
from tests.judge.claims import provenance_of
from tests.judge.claims import stored


@pytest.fixture
def claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Ledger, Row, Path]:
    """A claim about a task in a folder of its own, which a test may change."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    folder = tmp_path / "task"
    shutil.copytree(load_task(TASK).path, folder)
    ledger, row = stored(tmp_path / "ledger", task=load_task(folder))
    return ledger, row, folder


def test_a_bundle_is_named_after_task_and_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger, row = stored(Path("ledger"))
    report = make_bundle(ledger, row.hash[:6])
    assert report.path == f"cpu-rms_norm-{row.id}.assay"
    assert report.verdict_hash == row.hash
    assert verify_bundle(Path(report.path)) == report


def test_two_bundles_of_one_claim_are_equal_byte_by_byte(
    claim: tuple[Ledger, Row, Path], tmp_path: Path
) -> None:
    ledger, row, folder = claim
    for name in ("a", "b"):
        make_bundle(ledger, row.id, tmp_path / name, task=folder)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_changed_task_is_refused(claim: tuple[Ledger, Row, Path], tmp_path: Path) -> None:
    ledger, row, folder = claim
    with (folder / "reference.py").open("a") as file:
        file.write("\n")
    with pytest.raises(UsageError, match=r"the task is not the one that was judged: hash"):
        make_bundle(ledger, row.id, tmp_path / "x.assay", task=folder)
    assert not (tmp_path / "x.assay").exists()


@pytest.mark.parametrize(
    ("path", "side"),
    [
        ("solutions/win/rms_norm.cpp", "candidate"),
        ("solutions/win/solution.toml", "candidate"),
        ("baselines/naive/rms_norm.cpp", "baseline"),
    ],
)
def test_changed_or_broken_sources_are_refused_in_one_line(
    claim: tuple[Ledger, Row, Path], tmp_path: Path, path: str, side: str
) -> None:
    ledger, row, folder = claim
    with (folder / path).open("a") as file:
        file.write("changed\n")
    with pytest.raises(UsageError, match=rf"sources of the {side} .* --source"):
        make_bundle(ledger, row.id, tmp_path / "x.assay", task=folder)


def test_a_solution_outside_the_task_is_found_by_its_folder(
    claim: tuple[Ledger, Row, Path], tmp_path: Path
) -> None:
    ledger, row, folder = claim
    shutil.move(folder / "solutions/win", tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="sources of the candidate"):
        make_bundle(ledger, row.id, tmp_path / "x.assay", task=folder)
    report = make_bundle(
        ledger, row.id, tmp_path / "x.assay", task=folder, folders=[tmp_path / "elsewhere"]
    )
    assert report.ok


def test_only_a_task_verdict_makes_a_bundle(claim: tuple[Ledger, Row, Path]) -> None:
    ledger, row, folder = claim
    measured = row.body["evidence"][0]
    with pytest.raises(UsageError, match="is a row-verdict, and a bundle holds a task-verdict"):
        make_bundle(ledger, measured, task=folder)
    with pytest.raises(UsageError, match="no row ffffffff"):
        make_bundle(ledger, "ffffffff", task=folder)


def test_evidence_that_is_gone_is_named(claim: tuple[Ledger, Row, Path], tmp_path: Path) -> None:
    _, row, folder = claim
    other = Ledger(tmp_path / "other")
    with other.writer(environment()) as writer:
        orphan = writer.append("task-verdict", row.body)
    with pytest.raises(EvidenceError, match=f"row {row.body['evidence'][0][:12]}, which the"):
        make_bundle(other, orphan.id, tmp_path / "x.assay", task=folder)


@pytest.mark.parametrize("evidence", [None, 3, [3]])
def test_a_verdict_without_evidence_is_refused(
    claim: tuple[Ledger, Row, Path], tmp_path: Path, evidence: object
) -> None:
    ledger, row, folder = claim
    with ledger.writer(environment()) as writer:
        bare = writer.append("task-verdict", row.body | {"evidence": evidence})
    with pytest.raises(EvidenceError, match="does not say which rows it rests on"):
        make_bundle(ledger, bare.id, tmp_path / "x.assay", task=folder)


def test_a_claim_that_does_not_hold_is_not_bundled(
    claim: tuple[Ledger, Row, Path], tmp_path: Path
) -> None:
    ledger, row, folder = claim
    with ledger.writer(environment()) as writer:
        lie = writer.append("task-verdict", row.body | {"geomean": 9.0})
    with pytest.raises(EvidenceError, match=r"the claim does not hold: .*geomean is 9.0"):
        make_bundle(ledger, lie.id, tmp_path / "x.assay", task=folder)


def test_nothing_is_overwritten(claim: tuple[Ledger, Row, Path], tmp_path: Path) -> None:
    ledger, row, folder = claim
    target = tmp_path / "x.assay"
    target.write_text("mine")
    with pytest.raises(UsageError, match="there is such a file already"):
        make_bundle(ledger, row.id, target, task=folder)
    assert target.read_text() == "mine"


def test_a_full_disk_leaves_no_half_bundle(
    claim: tuple[Ledger, Row, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, row, folder = claim

    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("assay.task.bundle.write_new", full)
    with pytest.raises(StorageError, match="cannot write the bundle: No space left"):
        make_bundle(ledger, row.id, tmp_path / "x.assay", task=folder)
    assert not (tmp_path / "x.assay").exists()


def test_evidence_in_another_segment_is_found(tmp_path: Path) -> None:
    # A writer that rotates puts rows and verdict into different files.
    ledger = Ledger(tmp_path / "ledger")
    task = load_task(TASK)
    judgement = judged(task)
    with ledger.writer(environment(), rotate_bytes=1) as writer:
        row = store(writer, judgement, provenance_of(task), DEFAULT_RULES)
    assert len(ledger.segments()) > 1
    assert make_bundle(ledger, row.id, tmp_path / "x.assay").recomputed == 3
