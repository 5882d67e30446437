"""The baseline is the real one: modules from the snapshot, kernels of the lock, or no verdict."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from typing import cast

import pytest

from assay.device.failure import ProcessFailure
from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.device.runners import Target
from assay.device.runners.account import CallState
from assay.device.runners.account import Event
from assay.device.runners.account import Taken
from assay.judge.authentic import Authentic
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.exam import Question
from assay.judge.oracle import Oracle
from assay.judge.pinned import matched
from assay.judge.pinned import packages_of
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.documents import parse_document
from assay.spec.errors import UsageError
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.task import Task
from assay.spec.verdict import TaskVerdict
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import TASK
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.judge.pinning import PACKAGE
from tests.judge.pinning import lock_of
from tests.judge.pinning import pinned
from tests.judge.test_referee import BUDGET
from tests.judge.test_referee import RULES

# Without its __init__.py a folder is no package, and the one that is installed is found instead.
OUTSIDE = {"wsgiref/util.py": "def guess_scheme():\n    pass\n"}
OUTSIDE_ADAPTER = f"from wsgiref.util import guess_scheme\n{PLAIN}"
NO_PACKAGE = f"try:\n    import standin.missing\nexcept ImportError:\n    pass\n{PLAIN}"
STATE = CallState(gradients=False, default_dtype="float32", autocast=False, default_stream=False)


def with_gradients(made: Case) -> Case:
    """The same, called as a task with gradients is."""
    task = {**TASK, "contract": {"prepare": True, "gradients": True}}
    return replace(made, task=parse_document(task, Task, "task.toml"))


def asked(made: Case, defences: Defences = ALL_DEFENCES) -> TaskVerdict:
    question = Question(made.rows[0], Distribution.NORMAL, 1)
    return Referee(made, rules=RULES, defences=defences).ask(question)


class Untimed(Referee):
    """Asks all questions, and leaves the clock alone."""

    def _timed(self, device: RunnerDevice, oracle: Oracle) -> Judgement:
        return self._untimed()


def judged(made: Case, defences: Defences = ALL_DEFENCES, device: str = "cpu") -> TaskVerdict:
    return Untimed(made, defences=defences, device=device).judge().verdict


def outside() -> Contender:
    return pinned(
        OUTSIDE, adapter=OUTSIDE_ADAPTER, package="wsgiref", entry="wsgiref.util:guess_scheme"
    )


# -- modules


def test_modules_of_the_snapshot_are_recorded_with_their_paths() -> None:
    verdict = asked(case(contender(PLAIN), pinned()))
    assert [found.content() for found in verdict.authenticity] == [
        {
            "side": "baseline",
            "package": "standin",
            "version": "1.2.3",
            "modules": [
                {"name": "standin", "path": "standin/__init__.py"},
                {"name": "standin.ops", "path": "standin/ops.py"},
            ],
            "rows": [],
        }
    ]


def test_a_baseline_loaded_from_outside_its_snapshot_is_no_baseline() -> None:
    told = r"not the real one: module wsgiref of wsgiref was loaded from /.*/wsgiref/__init__.py"
    with pytest.raises(UsageError, match=told):
        asked(case(contender(PLAIN), outside()))
    off = Defences(pinned_modules=False)
    verdict = asked(case(contender(PLAIN), outside()), off)
    assert verdict.verdict is Status.UNCLEAR  # asked one question, and right
    assert "defence off: pinned_modules" in verdict.labels


def test_a_candidate_loaded_from_outside_its_snapshot_is_in_violation() -> None:
    verdict = asked(case(outside()))
    assert verdict.rows[0].violation is ViolationKind.FOREIGN_MODULE
    assert [found.side for found in verdict.authenticity] == ["candidate"]


def test_an_adapter_that_does_without_the_package_is_found() -> None:
    bypassed = pinned(adapter=NO_PACKAGE)
    told = "twice never loaded the module of its entry, standin.ops:twice"
    with pytest.raises(UsageError, match=told):
        asked(case(contender(PLAIN), bypassed))
    verdict = asked(case(bypassed))
    assert verdict.rows[0].violation is ViolationKind.BASELINE_PATH
    assert asked(case(bypassed), Defences(pinned_modules=False)).verdict is Status.UNCLEAR


def test_a_solution_without_a_lock_is_not_asked() -> None:
    assert asked(case(contender(PLAIN))).authenticity == ()


def test_packages_are_those_of_the_files_and_of_the_entries() -> None:
    files = {"one/a.py": "", "two.py": "", "three/b.cuh": "", "four-1.dist-info/c.py": ""}
    assert packages_of(lock_of(files, entry="five.six:go")) == {"one", "two", "five"}


# -- kernels, on a cpu: operators


@pytest.mark.long
def test_the_real_path_is_seen_recorded_and_timed() -> None:
    made = case(contender(PLAIN), pinned(kernels=["aten::mul", "aten::add*"]))
    verdict = Referee(made, rules=RULES, budget=BUDGET).judge().verdict
    assert verdict.verdict.is_timed
    assert "one thread a side" in verdict.labels  # so it was timed
    (found,) = verdict.authenticity
    (row,) = found.rows
    assert (row.row, row.function, row.unseen) == ("n4096", "twice", None)
    assert {"aten::mul", "aten::add_"} <= set(row.kernels)
    assert not [label for label in verdict.labels if "kernels" in label]


def test_a_baseline_that_silently_takes_another_path_is_refused_with_the_broken_clause() -> None:
    eager = with_gradients(case(contender(PLAIN), pinned(kernels=["aten::mul"])))
    with pytest.raises(UsageError) as caught:
        judged(eager)
    assert str(caught.value) == (
        "test/twice: the baseline is not the real one: twice of standin 1.2.3 was not seen to "
        "launch aten::mul; on row n4096 it launched aten::copy_, aten::mul_, aten::to and 3 more: "
        "its contract is broken: gradients are enabled, where it has them off "
        "(its baseline.lock says how it is called)"
    )
    # The same path where nobody looks.
    assert judged(eager, Defences(pinned_kernels=False)).verdict is Status.UNCLEAR


def test_a_candidate_on_another_path_is_in_violation() -> None:
    verdict = judged(with_gradients(case(pinned(kernels=["aten::mul"]))))
    assert verdict.verdict is Status.VIOLATION
    assert verdict.rows[0].violation is ViolationKind.BASELINE_PATH
    assert verdict.reason is not None
    assert "gradients are enabled, where it has them off" in verdict.reason
    assert "aten::mul_" in verdict.authenticity[0].rows[0].kernels


def test_a_kernel_that_is_missing_although_the_contract_holds_is_told_so() -> None:
    told = "not seen to launch gone_kernel; .*: every clause of its contract that is known holds"
    with pytest.raises(UsageError, match=told):
        judged(case(contender(PLAIN), pinned(kernels=["aten::mul", "gone_kernel"])))


def test_a_lock_without_kernels_is_labelled_and_what_was_seen_is_there_to_write_one_from() -> None:
    verdict = judged(case(contender(PLAIN), pinned()))
    assert "kernels of the baseline not known" in verdict.labels
    assert "aten::mul" in verdict.authenticity[0].rows[0].kernels


def test_a_lock_made_for_a_gpu_is_not_held_against_a_cpu() -> None:
    task = parse_document({**TASK, "device": "cuda"}, Task, "task.toml")
    made = replace(case(contender(PLAIN), pinned(kernels=["norm_kernel"])), task=task)
    assert "kernels of the baseline cannot be seen on the cpu" in judged(made).labels


# -- kernels, on a GPU: made-up events

MS = 1_000_000
MARKS = [Event("mark", f"assay call {n}", n * 10 * MS, n * 10 * MS + MS, 0, 7) for n in range(2)]


def launched(name: str, at: int = 100, number: int = 1) -> tuple[Event, Event]:
    launch = Event("launch", "cudaLaunchKernel", at, at + 1000, number, 7)
    return launch, Event("kernel", name, at + 2000, at + 3000, number, 13)


class Process:
    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        return


def watched(
    monkeypatch: pytest.MonkeyPatch,
    made: Case,
    *events: Event,
    state: CallState | None = STATE,
    failure: ProcessFailure | None = None,
) -> Authentic:
    device = SimpleNamespace(target=Target("cuda"), defences=ALL_DEFENCES)
    device.start = lambda _: Process(device)

    def take_row(*_: object) -> tuple[Taken, int]:
        if failure is not None:
            raise failure
        return Taken((*MARKS, *events), 100 * MS, state=state), 2

    monkeypatch.setattr("assay.judge.pinned.take_row", take_row)
    authentic = Authentic(made)
    program = cast("Program", None)
    programs = {"baseline": program, "candidate": program}
    verdict = authentic.watch(cast("RunnerDevice", device), programs)
    assert verdict is None
    return authentic


def against(**more: Any) -> Case:
    return case(contender(PLAIN), pinned(PACKAGE, **more))


def test_kernels_that_calls_launched_are_matched_by_any_spelling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = launched("void own::norm<float, 2>(float const*)")
    made = against(kernels=["own::norm", "*norm<float, ?>*"])
    (found,) = watched(monkeypatch, made, *seen).findings()
    assert found.rows[0].kernels == ("void own::norm<float, 2>(float const*)",)


def test_a_kernel_outside_of_the_calls_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside_of_calls = launched("other"), launched("norm", 5 * MS, 2)
    with pytest.raises(UsageError, match="not seen to launch norm; on row n4096 it launched other"):
        watched(monkeypatch, against(kernels=["norm"]), *inside, *outside_of_calls)


@pytest.mark.parametrize(
    ("more", "state", "clause"),
    [
        (
            {"contract": {"stream": "default"}},
            STATE,
            "the stream is not the default one, where it knows no other",
        ),
        ({"dtypes": ["float16"]}, STATE, "x is float32, where it has float16"),
        ({"layouts": ["strided"]}, STATE, "x is contiguous, where it has strided"),
        ({}, replace(STATE, gradients=True), "gradients are enabled, where it has them off"),
        (
            {"contract": {"gradients": True}},
            STATE,
            "gradients are off, where it has them on",
        ),
        ({}, replace(STATE, autocast=True), "autocast is on"),
        (
            {},
            replace(STATE, default_dtype="float64"),
            "torch's default dtype is float64, where it is float32",
        ),
    ],
)
def test_the_clause_that_is_broken_is_named(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], state: CallState, clause: str
) -> None:
    made = against(kernels=["norm"], **more)
    with pytest.raises(UsageError) as caught:
        watched(monkeypatch, made, *launched("other"), state=state)
    assert f": its contract is broken: {clause} (" in str(caught.value)


def test_without_a_word_on_its_settings_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "of its contract dtype and layout hold, and of the rest nothing is known"
    with pytest.raises(UsageError, match=told):
        watched(monkeypatch, against(kernels=["norm"]), *launched("other"), state=None)


def test_what_the_profiler_did_not_see_is_a_label_and_no_accusation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blind = watched(monkeypatch, against(kernels=["norm"]))
    assert blind.labels == ["kernels of the baseline not seen: nothing was seen on the device"]
    ended = ProcessFailure(Status.CRASH, "its process ended without a word")
    failed = watched(monkeypatch, against(kernels=["norm"]), failure=ended)
    assert failed.labels == [
        "kernels of the baseline not seen: its process failed under the profiler: "
        "its process ended without a word"
    ]


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("_norm", "_norm", True),
        ("_norm", "_norm_2", False),
        ("*Norm*", "void kernel_norm<float>(int)", False),
        ("fill<int[4]>", "fill<int[4]>", True),
        ("fill<int[4]>", "fill<int4>", False),
        ("own::go(int)", "_ZN3own2goEi", True),
    ],
)
def test_a_pattern_matches_a_whole_name_as_it_is_written(
    pattern: str, name: str, matches: bool
) -> None:
    assert matched([pattern], [name]) == ({pattern} if matches else set())
