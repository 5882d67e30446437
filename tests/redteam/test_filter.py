"""Attacks that hide from a filter of text: here nothing is decided by text."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.redteam.attack import AttackClass
from assay.redteam.find import find_attack
from assay.redteam.find import shipped_attacks
from assay.redteam.trial import try_attack
from assay.redteam.trial import victim_of
from assay.spec.attention import FindingKind
from assay.spec.status import Status
from assay.spec.task import DeviceKind
from assay.task.judging import judge

NAMES = [
    attack.name
    for attack in shipped_attacks()
    if attack.kind is AttackClass.FILTER and DeviceKind.CPU in attack.file.devices
]


def test_names_in_other_letters_do_not_help_a_call_that_is_left_out() -> None:
    trial = try_attack(find_attack("getattr_evasion"))
    assert trial.plain.beaten, trial.plain
    assert trial.stopped, trial.end


def test_an_attack_that_the_scan_sees_is_judged_all_the_same(tmp_path: Path) -> None:
    stored = judge(
        victim_of("cpu"), find_attack("judge_injection").folder, ledger=tmp_path, unadmitted=True
    )
    verdict = stored.judgement.verdict
    assert verdict.verdict is Status.WRONG_VALUE
    assert {finding.kind for finding in verdict.attention} == {FindingKind.REVIEWER}
    assert stored.row.body["attention"] == [f.content() for f in verdict.attention]
    assert not any("attention" in label for label in verdict.labels)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_what_hides_from_a_filter_beats_the_plain_evaluator_and_is_stopped_here(name: str) -> None:
    trial = try_attack(find_attack(name))
    assert trial.stopped, trial.end
    assert trial.end.status is not Status.FASTER
    assert trial.loaded, trial.plain
