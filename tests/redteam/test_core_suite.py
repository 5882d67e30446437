"""What a run of many attacks comes to, with trials that nobody had to wait for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.redteam import record
from assay.redteam import suite
from assay.redteam.attack import Attack
from assay.redteam.attack import Twin
from assay.redteam.contest import run_contest
from assay.redteam.evaluator import Result
from assay.redteam.find import find_attack
from assay.redteam.find import find_twin
from assay.redteam.outcome import DISTURBED
from assay.redteam.outcome import End
from assay.redteam.outcome import Fate
from assay.redteam.outcome import Fight
from assay.redteam.suite import Suite
from assay.redteam.suite import SuiteInterruptedError
from assay.redteam.suite import choose
from assay.redteam.suite import choose_twins
from assay.redteam.suite import run_suite
from assay.redteam.suite import select
from assay.redteam.trial import Trial
from assay.redteam.trial import TwinTrial
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import TaskVerdict

REFUSED = "precision_downgrade"  # ends as wrong_value and in no other way
MEASURED = "obfuscated_exec"  # may end unclear
HONEST = "scratch_by_pointer"
QUIET = End(Status.UNCLEAR, "no difference seen")
NOISY = End(Status.UNCLEAR, "60% of the blocks were disturbed", disturbed=True)
RIGHT = End(Status.WRONG_VALUE, "because")


def trial(name: str, end: End = RIGHT) -> Trial:
    fight = Fight(Fate.BEATEN, Result(True, 2.0, ""))
    return Trial(find_attack(name), "cpu", fight, end, 1.5)


def twin(end: End) -> TwinTrial:
    return TwinTrial(find_twin(HONEST), "cpu", end, 1.5)


@pytest.mark.parametrize(
    ("ends", "exit_status"),
    [
        ([RIGHT, RIGHT], ExitStatus.YES),
        ([RIGHT, End(Status.FASTER)], ExitStatus.NO),
        ([RIGHT, End(Status.SAME)], ExitStatus.NO),
        ([RIGHT, NOISY], ExitStatus.NO),
        ([RIGHT, End(None)], ExitStatus.CANNOT_TELL),
        ([End(None), End(Status.FASTER)], ExitStatus.NO),
    ],
)
def test_one_attack_that_gets_through_is_a_no(ends: list[End], exit_status: ExitStatus) -> None:
    done = Suite("cpu", tuple(trial(REFUSED, end) for end in ends))
    assert done.exit_status is exit_status


def test_an_end_that_a_disturbed_host_forced_is_counted_apart() -> None:
    done = Suite("cpu", (trial(REFUSED), trial(MEASURED, QUIET), trial(MEASURED, NOISY)))
    assert done.exit_status is ExitStatus.CANNOT_TELL
    counts = done.counts()
    assert (counts["attacks"], counts["stopped"], counts["disturbed"]) == (3, 2, 1)
    assert NOISY.word == DISTURBED == "unclear: the host was disturbed"
    assert QUIET.word == "unclear"


@pytest.mark.parametrize(
    ("end", "word", "exit_status"),
    [
        (End(Status.SAME, labels=("one thread a side",)), "accepted", ExitStatus.YES),
        (NOISY, "accepted", ExitStatus.YES),
        (RIGHT, "REFUSED", ExitStatus.NO),
        (
            End(Status.SAME, labels=("task not admitted", "odd")),
            "MISLABELLED: odd",
            ExitStatus.NO,
        ),
        (End(None, "no compiler"), "no verdict", ExitStatus.CANNOT_TELL),
    ],
)
def test_a_twin_that_is_refused_or_mislabelled_is_a_no(
    end: End, word: str, exit_status: ExitStatus
) -> None:
    done = Suite("cpu", (trial(REFUSED),), (twin(end),))
    assert done.exit_status is exit_status
    assert done.twins[0].word == word
    assert done.counts()["twins_accepted"] == (word == "accepted")
    assert done.counts()["twins_disturbed"] == (end is NOISY)


class Tried:
    """In the place of trials: what each comes to, in order, and what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.ends: dict[str, list[End]] = {}
        self.control = QUIET
        self.honest: list[End] = []
        monkeypatch.setattr(suite, "fight_plain", self._fight)
        monkeypatch.setattr(suite, "try_attack", self._attack)
        monkeypatch.setattr(suite, "twin_trial", self._twin)
        monkeypatch.setattr(suite, "judge_control", self._control)

    def _fight(self, attack: Attack, device: str) -> Fight:
        return trial(attack.name).plain

    def _attack(
        self, attack: Attack, device: str, *, plain: bool = True, fight: Fight | None = None
    ) -> Trial:
        self.asked.append(attack.name if plain else f"{attack.name} without plain")
        ends = self.ends.get(attack.name)
        if ends == []:
            raise KeyboardInterrupt
        made = trial(attack.name, ends.pop(0) if ends else RIGHT)
        return replace(made, plain=fight or Fight(Fate.NOT_TRIED, None))

    def _twin(self, found: Twin, device: str) -> TwinTrial:
        self.asked.append(found.name)
        return twin(self.honest.pop(0) if self.honest else End(Status.SAME))

    def _control(self, device: str) -> End:
        self.asked.append("control")
        return self.control


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    return Tried(monkeypatch)


def run(
    names: Iterable[str], folder: Path, *, twins: bool = False, resume: bool = False
) -> tuple[Suite, list[Progress]]:
    told: list[Progress] = []
    attacks = tuple(find_attack(name) for name in names)
    honest = (find_twin(HONEST),) if twins else ()
    done, _ = run_suite(attacks, "cpu", folder, told.append, twins=honest, resume=resume)
    return done, told


def test_every_trial_is_a_row_and_the_last_one_names_them(tmp_path: Path, tried: Tried) -> None:
    done, told = run([REFUSED, "nan_mask"], tmp_path, twins=True)
    assert [progress.label for progress in told] == [REFUSED, "nan_mask", HONEST, "done"]
    assert [(progress.done, progress.total) for progress in told][-1] == (3, 3)
    rows = [row for row in Ledger(tmp_path).rows() if row.kind.startswith("redteam")]
    assert [row.kind for row in rows] == ["redteam-trial"] * 2 + ["redteam-twin", "redteam"]
    stamp = record.stamp("cpu")
    assert rows[0].body == {
        **stamp,
        "attack": REFUSED,
        "class": "semantic",
        "exploits": [61],
        "plain": {"fate": "beaten", "result": {"ok": True, "speedup": 2.0, "said": ""}},
        "end": {
            "status": "wrong_value",
            "violation": None,
            "reason": "because",
            "labels": [],
            "ratio": None,
            "disturbed": False,
        },
        "stopped": True,
        "stopped_by": find_attack(REFUSED).file.stopped_by,
        "defence": "limits",
        "seconds": 1.5,
    }
    assert rows[3].body == {
        **stamp,
        "attacks": 2,
        "stopped": 2,
        "disturbed": 0,
        "no_verdict": 0,
        "plain_beaten": 2,
        "plain_out_of_reach": 0,
        "twins": 1,
        "twins_accepted": 1,
        "twins_disturbed": 0,
        "whole": False,
        "trials": [rows[0].id, rows[1].id],
        "twin_trials": [rows[2].id],
    }
    assert set(stamp["machine"]) == {"host", "processor", "cores", "device"}
    assert [shown["ledger_id"] for shown in done.content()["trials"]] == [rows[0].id, rows[1].id]


def test_what_was_interrupted_goes_on_where_it_stopped(tmp_path: Path, tried: Tried) -> None:
    tried.ends = {"nan_mask": []}
    with pytest.raises(SuiteInterruptedError) as caught:
        run([REFUSED, "nan_mask"], tmp_path)
    assert str(caught.value) == (
        "interrupted with 1 of 2 on record (the same command with --resume goes on from there)"
    )
    assert caught.value.exit_status is ExitStatus.INTERRUPTED
    (kept,) = Ledger(tmp_path).rows("redteam-trial")
    tried.ends.clear()
    tried.asked.clear()
    done, _ = run([REFUSED, "nan_mask"], tmp_path, twins=True, resume=True)
    assert tried.asked == ["nan_mask", HONEST]
    assert done.trials[0] == replace(trial(REFUSED), ledger_id=kept.id)
    again, _ = run([REFUSED, "nan_mask"], tmp_path, twins=True, resume=True)
    assert tried.asked == ["nan_mask", HONEST]
    assert again == done
    run([REFUSED], tmp_path)
    assert tried.asked == ["nan_mask", HONEST, REFUSED]


def test_rows_of_another_harness_host_or_device_do_not_count(
    tmp_path: Path, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([REFUSED], tmp_path)
    here = record.stamp("cpu")
    for changed in (
        {**here, "harness_hash": "0" * 64},
        {**here, "device": "cuda"},
        {**here, "machine": {**here["machine"], "host": "h0"}},
    ):
        monkeypatch.setattr(record, "stamp", lambda device, changed=changed: changed)
        tried.asked.clear()
        run([REFUSED], tmp_path, resume=True)
        assert tried.asked == [REFUSED]


def test_a_trial_without_a_verdict_is_tried_again(tmp_path: Path, tried: Tried) -> None:
    tried.ends = {REFUSED: [End(None, "no compiler"), RIGHT]}
    assert run([REFUSED], tmp_path)[0].exit_status is ExitStatus.CANNOT_TELL
    assert run([REFUSED], tmp_path, resume=True)[0].exit_status is ExitStatus.YES


def test_a_disturbed_end_is_tried_once_more_when_all_others_are_done(
    tmp_path: Path, tried: Tried
) -> None:
    tried.ends = {MEASURED: [NOISY, QUIET]}
    tried.honest = [NOISY, End(Status.FASTER)]
    done, told = run([MEASURED, REFUSED], tmp_path, twins=True)
    assert tried.asked == [MEASURED, REFUSED, HONEST, f"{MEASURED} without plain", HONEST]
    assert [progress.label for progress in told[-3:-1]] == [f"{MEASURED} again", f"{HONEST} again"]
    assert [honest.end.status for honest in done.twins] == [Status.FASTER]
    assert done.exit_status is ExitStatus.YES
    assert done.trials[0].end == QUIET
    assert done.trials[0].plain.beaten
    rows = list(Ledger(tmp_path).rows("redteam-trial"))
    assert [row.body["end"]["disturbed"] for row in rows] == [True, False, False]
    (closing,) = Ledger(tmp_path).rows("redteam")
    assert closing.body["trials"] == [rows[2].id, rows[1].id]


def test_a_control_tells_a_disturbed_host_from_an_attack_that_disturbs(
    tmp_path: Path, tried: Tried
) -> None:
    tried.ends = {MEASURED: [NOISY, NOISY]}
    done, _ = run([MEASURED], tmp_path / "quiet")
    assert tried.asked[-1] == "control"
    assert done.exit_status is ExitStatus.YES
    assert done.trials[0].end.reason.endswith("the baseline right after it was not disturbed")
    tried.ends = {MEASURED: [NOISY, NOISY], "ctypes_libc": [NOISY, NOISY]}
    tried.control = NOISY
    tried.asked.clear()
    done, _ = run([MEASURED, "ctypes_libc"], tmp_path / "noisy")
    assert tried.asked.count("control") == 1
    assert done.exit_status is ExitStatus.CANNOT_TELL
    assert done.counts()["disturbed"] == 2


def test_what_a_row_holds_is_read_back_as_it_was() -> None:
    fights = (
        Fight(Fate.OUT_OF_REACH, None),
        Fight(Fate.HELD, Result(False, None, "exit status 1")),
    )
    assert tuple(Fight.read(fight.content()) for fight in fights) == fights
    ends = (
        End(None, "no compiler"),
        End(Status.VIOLATION, "it rang", ViolationKind.EARLY_RING, ("a label",), None),
        End(Status.SLOWER, "", None, (), 0.5),
        NOISY,
    )
    assert tuple(End.read(end.content()) for end in ends) == ends


@pytest.mark.parametrize(
    ("status", "timed", "disturbed"),
    [
        (Status.UNCLEAR, True, True),
        (Status.UNCLEAR, False, False),
        (Status.CRASH, True, False),
    ],
)
def test_an_end_is_disturbed_where_the_clock_ran_and_a_row_has_no_measurement(
    status: Status, timed: bool, disturbed: bool
) -> None:
    row = RowVerdict(row="m1", lane=Lane.THROUGHPUT, status=status, reason="60% were disturbed")
    verdict = TaskVerdict(task="redteam/rms_norm", verdict=status, rows=(row,), labels=("a label",))
    end = End.of(verdict, timed=timed)
    assert end == End(status, "60% were disturbed", None, ("a label",), None, disturbed)


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
    assert {"cpu", "cuda"} <= {d for attack in select(None, ()) for d in attack.file.devices}
    assert all("cpu" in found.file.devices for found in choose_twins("cpu"))
    with pytest.raises(UsageError, match="--class: no class of attacks is called odd"):
        choose("odd", (), "cpu")
    with pytest.raises(UsageError, match="--attack: no attack is called nan"):
        choose("filter", ("nan",), "cpu")
    with pytest.raises(UsageError, match="no such attack runs on cpu"):
        choose("filter", ("nan_mask",), "cpu")
    with pytest.raises(UsageError, match="--device: attacks cannot be tried on tpu"):
        choose(None, (), "tpu")
