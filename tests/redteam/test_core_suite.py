"""What a run of many attacks comes to, with trials that nobody had to wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.redteam import suite
from assay.redteam.attack import Attack
from assay.redteam.evaluator import Result
from assay.redteam.find import find_attack
from assay.redteam.suite import Suite
from assay.redteam.suite import choose
from assay.redteam.suite import run_contest
from assay.redteam.suite import run_suite
from assay.redteam.trial import End
from assay.redteam.trial import Fate
from assay.redteam.trial import Fight
from assay.redteam.trial import Trial
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.status import Status

REFUSED = "precision_downgrade"


def trial(name: str, status: Status | None) -> Trial:
    fight = Fight(Fate.BEATEN, Result(True, 2.0, ""))
    return Trial(find_attack(name), "cpu", fight, End(status, "because"), 1.5)


@pytest.mark.parametrize(
    ("statuses", "exit_status"),
    [
        ([Status.WRONG_VALUE, Status.WRONG_VALUE], ExitStatus.YES),
        ([Status.WRONG_VALUE, Status.FASTER], ExitStatus.NO),
        ([Status.WRONG_VALUE, Status.SAME], ExitStatus.NO),
        ([Status.WRONG_VALUE, None], ExitStatus.CANNOT_TELL),
        ([None, Status.FASTER], ExitStatus.NO),
    ],
)
def test_one_attack_that_gets_through_is_a_no(
    statuses: list[Status | None], exit_status: ExitStatus
) -> None:
    done = Suite("cpu", tuple(trial(REFUSED, status) for status in statuses))
    assert done.exit_status is exit_status


def test_every_trial_is_on_record_with_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(attack: Attack, device: str) -> Trial:
        return trial(attack.name, Status.WRONG_VALUE)

    monkeypatch.setattr(suite, "try_attack", tried)
    told: list[Progress] = []
    attacks = (find_attack(REFUSED), find_attack("nan_mask"))
    done, row = run_suite(attacks, "cpu", tmp_path / "ledger", told.append)
    assert [progress.label for progress in told] == [REFUSED, "nan_mask", "done"]
    (kept,) = Ledger(tmp_path / "ledger").rows("redteam")
    assert kept.id == row.id
    assert kept.body == done.content()
    assert (kept.body["attacks"], kept.body["stopped"], kept.body["plain_beaten"]) == (2, 2, 2)
    assert len(kept.body["harness_hash"]) == 64
    assert kept.body["trials"][0] == {
        "attack": REFUSED,
        "class": "semantic",
        "exploits": [61],
        "device": "cpu",
        "plain": {"fate": "beaten", "result": {"ok": True, "speedup": 2.0, "said": ""}},
        "end": {
            "status": "wrong_value",
            "violation": None,
            "reason": "because",
            "labels": [],
            "ratio": None,
        },
        "stopped": True,
        "stopped_by": find_attack(REFUSED).file.stopped_by,
        "defence": "limits",
        "seconds": 1.5,
    }


def test_an_evaluator_that_takes_anything_is_beaten_and_one_that_takes_nothing_is_not(
    tmp_path: Path,
) -> None:
    attacks = (find_attack(REFUSED),)
    ledger = tmp_path / "ledger"
    gullible, _ = run_contest(
        attacks, "cpu", ["sh", "-c", """echo 'RESULT {"ok": true}'"""], ledger, print
    )
    assert gullible.exit_status is ExitStatus.NO
    assert gullible.content()["beaten"] == 1
    strict, row = run_contest(
        attacks, "cpu", ["sh", "-c", """echo 'RESULT {"ok": false}'"""], ledger, print
    )
    assert strict.exit_status is ExitStatus.YES
    assert row.body["fights"] == [
        {
            "attack": REFUSED,
            "class": "semantic",
            "fate": "not beaten",
            "result": {"ok": False, "speedup": None, "said": ""},
        }
    ]


def test_attacks_are_chosen_by_class_by_name_and_by_device() -> None:
    assert {attack.kind for attack in choose("filter", (), "cpu")} == {"filter"}
    assert [attack.name for attack in choose(None, ("nan_mask",), "cpu")] == ["nan_mask"]
    with pytest.raises(UsageError, match="--class: no class of attacks is called odd"):
        choose("odd", (), "cpu")
    with pytest.raises(UsageError, match="--attack: no attack is called nan"):
        choose("filter", ("nan",), "cpu")
    with pytest.raises(UsageError, match="no such attack runs on cpu"):
        choose("filter", ("nan_mask",), "cpu")
    with pytest.raises(UsageError, match="--device: attacks cannot be tried on tpu"):
        choose(None, (), "tpu")
