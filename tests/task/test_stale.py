"""A verdict against a baseline that the task no longer has is labelled, wherever it is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.device.environment import environment
from assay.ledger import Ledger
from assay.ledger import Row
from assay.spec.documents import parse_document
from assay.spec.environment import DeviceIdentity
from assay.spec.environment import Provenance
from assay.spec.errors import UsageError
from assay.spec.lock import LOCK_FILE
from assay.task.judging import INCUMBENT
from assay.task.judging import judge
from assay.task.load import TaskFolder
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task
from assay.task.new import new_task
from assay.task.stale import STALE
from assay.task.stale import Baselines
from assay.task.stale import baseline_hash
from assay.task.stale import standings
from tests.judge.pinning import PACKAGE
from tests.judge.pinning import lock_of
from tests.judge.pinning import written

WHEEL = '\n[[baselines]]\nkind = "wheel"\nname = "standin"\npath = "baselines/standin"\n'


def provenance_of(task: TaskFolder, against: str | None = "baseline") -> Provenance:
    return Provenance(
        created="2026-11-15T01:45:00Z",
        command="assay judge own/silu",
        task=task.task.name,
        task_hash=task.content_hash,
        baseline_hash=load_baseline(task).content_hash,
        candidate_hash=load_solution(task.path / "solutions" / "candidate").content_hash,
        harness_hash="0" * 64,
        environment=environment(),
        device=DeviceIdentity(kind="cpu", name="made up"),
        against=against,
    )


def verdict(ledger: Ledger, provenance: Provenance) -> Row:
    body = {"task": provenance.task, "verdict": "faster", "geomean": 1.25, "labels": ["one thread"]}
    with ledger.writer(environment()) as writer:
        return writer.append("task-verdict", body | {"provenance": provenance.content()})


def change(task: TaskFolder) -> None:
    """A refresh of the baseline, as far as anybody can see."""
    source = next((task.path / "baselines" / "naive").glob("*.py"))
    source.write_text(source.read_text() + "# another version\n")


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TaskFolder:
    """A task where it is found by its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    new_task(Path("tasks/own/silu"), "own/silu")
    return load_task("own/silu")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.mark.parametrize("against", ["baseline", "naive", None])
def test_a_verdict_is_stale_once_its_baseline_is_another(
    task: TaskFolder, against: str | None
) -> None:
    body = {"provenance": provenance_of(task, against).content()}
    assert Baselines().labels(body) == ()
    change(task)
    assert Baselines().labels(body) == (STALE,)


def test_a_verdict_against_a_solution_is_not_stale(task: TaskFolder) -> None:
    solution = load_solution(task.path / "solutions" / "candidate").content_hash
    for against in ("candidate", INCUMBENT, None):
        found = provenance_of(task, against).model_copy(update={"baseline_hash": solution})
        assert Baselines().labels({"provenance": found.content()}) == ()


def test_where_nobody_can_tell_nothing_is_said(task: TaskFolder) -> None:
    known = provenance_of(task)
    elsewhere = known.model_copy(update={"task": "not/here"})
    for body in ({}, {"provenance": 3}, {"provenance": elsewhere.content()}):
        assert Baselines().labels(body) == ()
    (task.path / "baselines" / "naive" / "solution.toml").unlink()
    assert Baselines().labels({"provenance": known.content()}) == ()


def test_of_a_wheel_the_lock_is_enough(task: TaskFolder) -> None:
    folder = task.path / "baselines" / "standin"
    lock = lock_of(PACKAGE, entry="standin.ops:twice").sealed()
    written(folder, lock, PACKAGE)
    (task.path / "task.toml").write_text((task.path / "task.toml").read_text() + WHEEL)
    task = load_task("own/silu")
    wheel = task.task.baselines[1]
    loaded = load_baseline(task, "standin")
    assert loaded.lock == lock
    for path in sorted((folder / "snapshot").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert baseline_hash(task, wheel) == loaded.content_hash
    (folder / LOCK_FILE).write_text("{")
    assert baseline_hash(task, wheel) is None


def test_an_older_provenance_keeps_its_content(task: TaskFolder) -> None:
    content = provenance_of(task, None).content()
    assert "against" not in content
    assert parse_document(content, Provenance, "p").content() == content
    assert provenance_of(task).content()["against"] == "baseline"


# -- where verdicts are listed


def test_the_ledger_labels_a_stale_verdict_and_no_other(
    task: TaskFolder, ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    row = verdict(ledger, provenance_of(task))
    assert _edge.run(["ledger", "show"]) == 0
    assert "label" not in capsys.readouterr().out.splitlines()[0]
    change(task)
    assert _edge.run(["ledger", "show"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "time", "kind", "samples", "label", "body"]
    assert [STALE in line for line in lines] == [False, True]  # the environment, the verdict
    assert _edge.run(["ledger", "show", row.id]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["label", *STALE.split()] in shown
    assert _edge.run(["ledger", "show", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [found.get("labels") for found in told] == [None, [STALE]]


def test_standings_are_the_newest_of_each_candidate(task: TaskFolder, ledger: Ledger) -> None:
    assert standings(task, ledger) == ()
    verdict(ledger, provenance_of(task))
    change(task)
    (old,) = standings(task, ledger)
    assert (old.candidate, old.verdict, old.geomean) == ("candidate", "faster", 1.25)
    assert old.labels == (STALE, "one thread")
    row = verdict(ledger, provenance_of(task))
    (new,) = standings(task, ledger)
    assert (new.row, new.labels) == (row.id, ("one thread",))


def test_an_incumbent_that_won_against_another_baseline_is_labelled(
    task: TaskFolder, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[tuple[str, ...]] = []

    def refuse(case: object, **_: object) -> None:
        labels.append(case.labels)  # type: ignore[attr-defined]
        raise UsageError("seen enough")

    monkeypatch.setattr("assay.task.judging.Referee", refuse)
    with pytest.raises(UsageError, match="there is no incumbent"):
        judge("own/silu", "candidate", ledger=ledger.path, against=INCUMBENT, unadmitted=True)
    verdict(ledger, provenance_of(task))
    for _ in range(2):
        with pytest.raises(UsageError, match="seen enough"):
            judge("own/silu", "candidate", ledger=ledger.path, against=INCUMBENT, unadmitted=True)
        change(task)
    assert labels == [
        ("task not admitted",),
        ("task not admitted", "incumbent: stale baseline"),
    ]
