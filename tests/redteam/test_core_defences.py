"""The switches: all on, named in the verdict when off, and each with an attack in whose way it is.

Some attacks are met by two checks. Then the other one is off in both trials, so that what is shown
is what this switch alone does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.device.runners import RowSource
from assay.device.runners.turn import FEWEST_SLOTS
from assay.judge.case import Case
from assay.judge.exam import HIDDEN_ROWS
from assay.judge.exam import Question
from assay.judge.exam import questions
from assay.judge.referee import Referee
from assay.redteam.find import ROOT
from assay.redteam.find import find_attack
from assay.redteam.trial import judged
from assay.redteam.trial import try_attack
from assay.runner import sandbox
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import TaskVerdict
from assay.task.judging import make_case
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of
from tests.runner.sandboxed import require

OF_BASELINES = {"pinned_modules", "pinned_kernels"}
"""What no attack meets, being about the baseline: tests/judge/test_authentic.py shows each."""

ANSWERS = [
    ("inputs", "aliased_outputs", Status.VIOLATION),
    ("guard_bands", "oob_guard_band", Status.VIOLATION),
    ("determinism", "race_nondeterminism", Status.NONDETERMINISTIC),
    ("limits", "precision_downgrade", Status.WRONG_VALUE),
    ("limits", "size_dispatch", Status.WRONG_VALUE),
    ("limits", "distribution_sniff", Status.WRONG_VALUE),
]
"""Switch and attack, where one question of the exam shows it, and how that ends with the switch."""

JUDGEMENTS = [
    ("distributions", "structure_truncation", ()),
    ("distributions", "nan_mask", ()),
    ("hidden_rows", "hardcoded_shape", ()),
    ("content", "replay_when_timed", ()),
    ("kept_calls", "environment_sniff", ()),
    ("kept_calls", "wrong_when_timed", ()),
    ("uncalled_slots", "write_other_slots", ("content",)),
    ("uncalled_slots", "fill_before_ready", ("content",)),
    ("rings", "defer_past_ring", ()),
    ("rest", "l2_prefetch_gap", ()),
    ("inputs", "zero_the_constant", ("kept_calls",)),
]
"""Switch and attack, where it takes a whole judgement, and what else stands in that one's way."""

PARTS = [
    ("seccomp", "use_two_cores", "any(_widened)", ()),
    ("namespaces", "read_other_processes", "len(_opened) > 1", ("landlock",)),
    ("landlock", "read_other_processes", "len(_opened) > 1", ("namespaces",)),
    ("read_only_root", "pip_overwrite_torch", "any(_writable)", ("landlock",)),
]
"""Part of the sandbox, attack, what says of the attack that it has what it reached for, and which
other parts deny the same."""

CALLS = [("skipped_calls", "skip_known_slot_gpu")]
"""Where slots are called again and again, which takes rows too large for the small victim's."""


def test_every_switch_is_shown_to_stop_an_attack() -> None:
    shown = {
        *((switch, name) for switch, name, _ in ANSWERS),
        *((switch, name) for switch, name, _ in JUDGEMENTS),
        *((switch, name) for switch, name, _, _ in PARTS),
        *CALLS,
    }
    assert {switch for switch, _ in shown} == set(DEFENCE_NAMES) - OF_BASELINES
    for _, name in shown:
        find_attack(name)


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
    check_one_question(*ANSWERS[0])


@pytest.mark.long
@pytest.mark.parametrize(("defence", "name", "how"), ANSWERS[1:])
def test_each_check_is_all_that_stands_in_an_attacks_way(
    defence: str, name: str, how: Status
) -> None:
    check_one_question(defence, name, how)


@pytest.mark.long
@pytest.mark.parametrize(("defence", "name", "also"), JUDGEMENTS)
def test_a_judgement_without_the_check_does_not_refuse(
    defence: str, name: str, also: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slots for one batch and no more: those of the next one are the same, on any host.
    monkeypatch.setattr(CpuDevice, "slots_for", lambda self, source, wanted, lane: wanted)
    attack = find_attack(name)
    assert attack.file.defence == defence
    stopped = try_attack(attack, plain=False, defences=Defences.without(also)).end
    assert stopped.status is not None
    assert not stopped.status.is_timed, stopped.word
    through = try_attack(attack, plain=False, defences=Defences.without([defence, *also])).end
    assert through.status is not None
    assert through.status.is_timed, f"{through.word}: {through.reason}"
    assert f"defence off: {defence}" in through.labels


TELLS = """

_attack = rms_norm


def rms_norm(x, w, y, *, eps):
    _attack(x, w, y, eps=eps)
    raise RuntimeError(f"it is {%s}")
"""


def told(name: str, question: str, folder: Path, off: tuple[str, ...]) -> str:
    """What an attack knows of itself after its first call, when these parts are off."""
    copy = folder / f"{name}-{len(off)}" / name
    shutil.copytree(find_attack(name).folder, copy)
    with (copy / "rms_norm.py").open("a") as source:
        source.write(TELLS % question)
    return judged(copy, "cpu", Defences.without(off)).reason


@pytest.mark.long
@pytest.mark.parametrize(("part", "name", "question", "also"), PARTS)
def test_a_part_of_the_sandbox_alone_denies_what_is_had_without_it(
    tmp_path: Path, part: str, name: str, question: str, also: tuple[str, ...]
) -> None:
    require(part)
    for other in also:
        require(other)
    if name == "pip_overwrite_torch" and not os.access(torch.__file__, os.W_OK):
        pytest.skip("torch belongs to somebody else here")
    assert part in sandbox.PARTS
    assert told(name, question, tmp_path, also) == "RuntimeError: it is False"
    assert told(name, question, tmp_path, (part, *also)) == "RuntimeError: it is True"


class FewSlots(CpuDevice):
    """Slots come again and again, as they do for rows that are too large for more of them."""

    def slots_for(self, source: RowSource, wanted: int, lane: Lane) -> int:
        return FEWEST_SLOTS + 4


@pytest.fixture
def few_slots() -> Iterator[CpuDevice]:
    with FewSlots() as device:
        device.rows = {row.id: source_of(row) for row in rows()}
        yield device


# Where the beginning of an output is not uniform, a call has been here before.
LEAVES_OUT = (
    "import torch\ndef twice(x, y, *, bias):\n"
    "    if bool((y[:32] != y[0]).any()):\n        return\n"
    "    torch.mul(x, 2, out=y)\n    y.add_(bias)\n"
)


@pytest.mark.parametrize("on", [True, False])
def test_calls_of_known_slots_can_be_left_out_where_nothing_is_spoilt(
    few_slots: CpuDevice, on: bool
) -> None:
    # What is spoilt and not mended also looks as if it had not been written at the ring.
    few_slots.defences = Defences(skipped_calls=on, rings=False)
    with few_slots.start(program(LEAVES_OUT)) as process:
        try:
            for _ in range(40):
                process.time("n4096", Lane.THROUGHPUT, 80, 4)
            found = None
        except ProcessFailure as failure:
            found = failure.violation
    assert found is (ViolationKind.SKIPPED_CALL if on else None)
