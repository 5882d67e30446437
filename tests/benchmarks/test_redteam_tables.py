"""The tables of the red team, from ledgers made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.judge.sitting import Progress
from assay.ledger import Ledger
from assay.redteam import suite
from assay.redteam.attack import Attack
from assay.redteam.attack import Plain
from assay.redteam.attack import Twin
from assay.redteam.evaluator import Result
from assay.redteam.find import find_attack
from assay.redteam.outcome import End
from assay.redteam.outcome import Fate
from assay.redteam.outcome import Fight
from assay.redteam.suite import choose
from assay.redteam.suite import choose_twins
from assay.redteam.suite import run_suite
from assay.redteam.trial import Trial
from assay.redteam.trial import TwinTrial
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from benchmarks import redteam_tables
from benchmarks.redteam_tables import NOTHING
from benchmarks.redteam_tables import redteam_table
from benchmarks.redteam_tables import redteam_twins_table
from benchmarks.tables import renewed

ENDS = {
    "ring_early": End(Status.VIOLATION, "it rang", ViolationKind.EARLY_RING),
    "obfuscated_exec": End(Status.UNCLEAR, "noise", disturbed=True),
    "nan_mask": End(Status.FASTER, "", None, (), 2.0),
    "ignore_params": End(None, "no compiler"),
}


def fought(attack: Attack, device: str) -> Fight:
    if attack.file.plain is Plain.OUT_OF_REACH:
        return Fight(Fate.OUT_OF_REACH, None)
    return Fight(Fate.BEATEN, Result(True, 2.0, ""))


def tried(attack: Attack, device: str, *, plain: bool = True, fight: Fight | None = None) -> Trial:
    fight = fight or Fight(Fate.NOT_TRIED, None)
    return Trial(attack, device, fight, ENDS.get(attack.name, End(attack.file.ends[0])), 1.0)


def judged(twin: Twin, device: str) -> TwinTrial:
    refused = twin.name == "prints"
    return TwinTrial(twin, device, End(Status.CRASH if refused else Status.SAME), 1.0)


def quiet(_: Progress) -> None:
    pass


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(suite, "fight_plain", fought)
    monkeypatch.setattr(suite, "try_attack", tried)
    monkeypatch.setattr(suite, "twin_trial", judged)
    monkeypatch.setattr(suite, "judge_control", lambda device: End(Status.SAME, disturbed=True))
    monkeypatch.setattr(redteam_tables, "EVIDENCE", tmp_path)
    run_suite([find_attack("nan_mask")], "cpu", tmp_path, quiet)
    return tmp_path


def test_a_run_of_a_part_is_no_run_of_the_suite(ledger: Path) -> None:
    assert redteam_table() == NOTHING
    assert redteam_twins_table() == NOTHING


def test_each_attack_and_each_twin_has_its_line(ledger: Path) -> None:
    attacks = choose(None, (), "cpu")
    run_suite(attacks, "cpu", ledger, quiet, twins=choose_twins("cpu"))
    closing = list(Ledger(ledger).rows("redteam"))[-1]
    lines = redteam_table().splitlines()
    machine = closing.body["machine"]
    assert lines[0] == f"**{machine['processor']}**, {machine['cores']} cores"
    assert lines[2] == "| attack | class | plain evaluator | here | what stopped it |"
    rows = {line.split("`")[1]: line for line in lines[4 : 4 + len(attacks)]}
    assert set(rows) == {attack.name for attack in attacks}
    stopper = find_attack("ring_early").file.stopped_by
    assert rows["ring_early"] == (
        f"| `ring_early` | protocol | out of reach | violation: early_ring | {stopper} |"
    )
    wins = "beaten: taken for right, 2.0x"
    assert rows["obfuscated_exec"] == (
        f"| `obfuscated_exec` | filter | {wins} | unclear: the host was disturbed | not known |"
    )
    assert rows["nan_mask"] == f"| `nan_mask` | semantic | {wins} | faster | NOTHING |"
    assert rows["ignore_params"].endswith("| no verdict: no compiler | not known |")
    assert lines[-1].startswith(f"{len(attacks) - 3} of {len(attacks)} stopped, 1 unclear on")
    assert lines[-1].endswith(f"Ledger id `{closing.id}`, {closing.time[:10]}.")
    twins = redteam_twins_table().splitlines()
    assert "| `prints` |" in "".join(line[:12] for line in twins)
    (refused,) = [line for line in twins if line.startswith("| `prints` |")]
    assert refused.endswith("| crash | REFUSED |")
    count = len(choose_twins("cpu"))
    assert twins[-1].startswith(f"{count - 1} of {count} accepted, 0 of them unclear")


def test_the_newest_whole_run_of_a_machine_is_the_one_that_counts(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks = choose(None, (), "cpu")
    run_suite(attacks, "cpu", ledger, quiet)
    monkeypatch.setitem(ENDS, "nan_mask", End(Status.WRONG_VALUE))
    run_suite(attacks, "cpu", ledger, quiet)
    text = redteam_table()
    assert text.count("**") == 2
    assert "| faster |" not in text


def test_a_document_is_renewed_between_its_marks(ledger: Path) -> None:
    text = "a\n<!-- table: redteam -->\nold\n<!-- end -->\nb\n"
    assert renewed(text) == f"a\n<!-- table: redteam -->\n{NOTHING}<!-- end -->\nb\n"
