"""The switches: all on, named in the verdict when off, and each the only thing in an attack's way.

Which switch carries which attack of the other classes stands in their own tests.
"""

from __future__ import annotations

import pytest

from assay.judge.case import Case
from assay.judge.exam import HIDDEN_ROWS
from assay.judge.exam import Question
from assay.judge.exam import questions
from assay.judge.referee import Referee
from assay.redteam.find import ROOT
from assay.redteam.find import find_attack
from assay.redteam.trial import try_attack
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.task.judging import make_case
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task


def test_all_are_on_and_a_verdict_names_those_that_are_not() -> None:
    assert ALL_DEFENCES.off == ()
    assert ALL_DEFENCES.labels == ()
    some = Defences.without(["inputs", "content"])
    assert some == Defences(content=False, inputs=False)
    assert some.labels == ("defence off: content", "defence off: inputs")


def test_a_switch_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no defence is called luck"):
        Defences.without(["luck"])
    assert len(DEFENCE_NAMES) == len(set(DEFENCE_NAMES))


@pytest.fixture(scope="module")
def case() -> Case:
    task = load_task(ROOT / "victim" / "cpu")
    baseline = load_baseline(task)
    return make_case(task, baseline, baseline, unadmitted=True)


def test_the_exam_asks_all_it_can_unless_it_is_told_not_to(case: Case) -> None:
    kinds, rows = len(Distribution), len(case.rows)
    assert len(questions(case, 1, 2)) == kinds * (rows + HIDDEN_ROWS)
    frozen = questions(case, 1, 2, Defences(hidden_rows=False))
    assert {question.row.id for question in frozen} == {row.id for row in case.rows}
    assert len(frozen) == kinds * rows
    normal = questions(case, 1, 2, Defences(distributions=False))
    assert {question.distribution for question in normal} == {Distribution.NORMAL}
    assert len(normal) == rows + HIDDEN_ROWS


def asked(name: str, defences: Defences = ALL_DEFENCES) -> TaskVerdict:
    """An attack's answer to one question on normal numbers."""
    task = load_task(ROOT / "victim" / "cpu")
    solution = load_solution(find_attack(name).folder, task.task)
    made = make_case(task, solution, load_baseline(task), unadmitted=True)
    question = Question(made.rows[0], Distribution.NORMAL, 1)
    return Referee(made, defences=defences).ask(question)


def check_one_question(defence: str, name: str, how: Status) -> None:
    assert find_attack(name).file.defence == defence
    assert asked(name).verdict is how
    through = asked(name, Defences.without([defence]))
    assert (through.verdict, through.reason) == (Status.UNCLEAR, "this question is answered right")
    assert f"defence off: {defence}" in through.labels


def test_without_a_check_the_attack_that_it_stops_is_no_longer_refused() -> None:
    check_one_question("inputs", "aliased_outputs", Status.VIOLATION)


@pytest.mark.long
@pytest.mark.parametrize(
    ("defence", "name", "how"),
    [
        ("guard_bands", "oob_guard_band", Status.VIOLATION),
        ("determinism", "race_nondeterminism", Status.NONDETERMINISTIC),
        ("limits", "precision_downgrade", Status.WRONG_VALUE),
        ("limits", "size_dispatch", Status.WRONG_VALUE),
        ("limits", "distribution_sniff", Status.WRONG_VALUE),
    ],
)
def test_each_check_is_all_that_stands_in_an_attacks_way(
    defence: str, name: str, how: Status
) -> None:
    check_one_question(defence, name, how)


@pytest.mark.long
@pytest.mark.parametrize(
    ("defence", "name"),
    [
        ("distributions", "structure_truncation"),
        ("distributions", "nan_mask"),
        ("hidden_rows", "hardcoded_shape"),
    ],
)
def test_an_exam_that_asks_less_is_passed(defence: str, name: str) -> None:
    attack = find_attack(name)
    assert attack.file.defence == defence
    assert try_attack(attack, plain=False).end.status is Status.WRONG_VALUE
    through = try_attack(attack, plain=False, defences=Defences.without([defence]))
    assert through.end.status is not None
    assert through.end.status.is_timed
    assert f"defence off: {defence}" in through.end.labels


@pytest.mark.long
def test_without_a_look_at_timed_calls_a_copy_of_the_input_is_not_refused() -> None:
    attack = find_attack("environment_sniff")
    assert attack.file.defence == "kept_calls"
    through = try_attack(attack, plain=False, defences=Defences(kept_calls=False))
    assert through.end.status is not None
    assert through.end.status.is_timed
    assert "defence off: kept_calls" in through.end.labels
