from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.spec.documents import parse_document
from assay.spec.errors import ExitStatus
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.noun import canonical_json
from assay.spec.rules import Rules
from assay.spec.sample import Disturbance
from assay.spec.sample import Pair
from assay.spec.sample import Sample
from assay.spec.sample import Side
from assay.spec.sample import from_columns
from assay.spec.sample import to_columns
from assay.spec.solution import Language
from assay.spec.solution import LanguagePreference
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.status import Status
from assay.spec.task import Task
from assay.spec.verdict import RowVerdict
from tests.spec.examples import SOLUTION
from tests.spec.examples import TASK
from tests.spec.test_documents import spoilt
from tests.stats.verdicts import timed
from tests.stats.verdicts import wrong

TASK_NOUN = parse_document(TASK, Task, "task.toml")


def test_a_noun_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TASK_NOUN.summary = "another"  # type: ignore[misc]


def test_the_hash_of_a_task_is_the_same_on_every_machine_and_version() -> None:
    # A frozen number: evidence refers to tasks by it.
    assert TASK_NOUN.content_hash == TASK_HASH


def test_any_change_changes_the_hash() -> None:
    other = parse_document(spoilt(TASK, "domain.axes.width.high", 8200), Task, "t")
    assert other.content_hash != TASK_NOUN.content_hash


def test_nouns_of_different_kinds_never_share_a_hash() -> None:
    file = SourceFile(path="a", sha256="0" * 64, bytes=1)

    class Other(SourceFile):
        pass

    assert Other(**file.model_dump()).content_hash != file.content_hash


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": 1, "a": [1.5, "é"]}) == '{"a":[1.5,"é"],"b":1}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.FASTER, 0),
        (Status.SAME, 1),
        (Status.SLOWER, 1),
        (Status.WRONG_VALUE, 1),
        (Status.VIOLATION, 1),
        (Status.CRASH, 1),
        (Status.UNCLEAR, 2),
    ],
)
def test_the_exit_status_of_each_verdict(status: Status, code: int) -> None:
    assert status.exit_status == code


def test_only_four_statuses_come_from_the_clock() -> None:
    assert {s.value for s in Status if s.is_timed} == {"unclear", "same", "slower", "faster"}
    assert len(Status) == 16


def test_misuse_is_64() -> None:
    assert ExitStatus.MISUSE.value == 64


def test_events_and_device_lanes_never_decide() -> None:
    assert [lane.value for lane in Lane if not lane.decides] == ["events", "device"]


def test_a_verdict_carries_what_its_status_needs() -> None:
    with pytest.raises(ValidationError, match="carries where it is wrong"):
        RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.WRONG_VALUE)
    with pytest.raises(ValidationError, match="carries its kind"):
        RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.VIOLATION)
    with pytest.raises(ValidationError, match="faster without a measurement"):
        RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.FASTER, ratio=1.2)
    with pytest.raises(ValidationError, match="unclear needs a reason"):
        RowVerdict(row="a", lane=Lane.THROUGHPUT, status=Status.UNCLEAR)


def test_a_wrong_value_names_where_what_and_how_to_see_it_again() -> None:
    found = wrong("m4096").content()["wrong"]
    assert found == {
        "row": "m4096",
        "distribution": "normal",
        "output": "y",
        "first_bad_index": [0, 2],
        "expected": "1.0",
        "got": "nan",
        "wrong_elements": 3,
        "elements": 8,
        "reproduce": "assay judge cpu/rms_norm --reproduce 1234",
    }


def test_a_row_of_a_verdict_has_the_promised_keys() -> None:
    content = timed("a", Status.FASTER, 1.25).content()
    promised = [
        "row",
        "lane",
        "status",
        "ratio",
        "interval",
        "baseline_us",
        "candidate_us",
        "twin_us",
    ]
    assert list(content)[:8] == promised
    assert content["ratio"] == 1.25
    assert content["baseline_us"] / content["candidate_us"] == pytest.approx(1.25)


def test_samples_survive_the_way_to_columns_and_back() -> None:
    samples = (
        Sample(
            generation=1,
            block=2,
            position=3,
            pair=Pair.AA,
            side=Side.ECHO,
            launches=500,
            nanoseconds=40_123_456,
            disturbances=(Disturbance.THROTTLED, Disturbance.FOREIGN_WORK),
            clock_mhz=1980,
        ),
        Sample(
            generation=0,
            block=0,
            position=0,
            pair=Pair.AB,
            side=Side.CANDIDATE,
            launches=1,
            nanoseconds=-7,
        ),
    )
    columns = to_columns(samples)
    assert columns["nanoseconds"] == [40_123_456, -7]
    assert columns["disturbances"] == ["throttled+foreign_work", ""]
    assert from_columns(columns) == samples


def test_columns_of_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="columns are"):
        from_columns({"nanoseconds": [1]})


def test_a_language_preference_is_enforced_and_any_is_none() -> None:
    assert LanguagePreference.ANY.allows(Language.TORCH)
    assert LanguagePreference.TRITON.allows(Language.TRITON)
    assert not LanguagePreference.TRITON.allows(Language.CUDA)


def test_a_seal_covers_every_source_in_order() -> None:
    solution = parse_document(SOLUTION, Solution, "solution.toml")
    files = tuple(SourceFile(path=p, sha256="1" * 64, bytes=1) for p in solution.sources)
    sealed = SealedSolution(solution=solution, files=files)
    with pytest.raises(ValidationError, match="not the solution's sources"):
        SealedSolution(solution=solution, files=files[:1])
    changed = SealedSolution(
        solution=solution,
        files=(files[0], SourceFile(path="lanes/row.h", sha256="2" * 64, bytes=1)),
    )
    assert changed.content_hash != sealed.content_hash


def test_rules_that_could_never_decide_are_refused() -> None:
    with pytest.raises(ValidationError, match="at least 2 generations"):
        Rules(generations=3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb", "a\\nb"),
        ("\u202eabc", "\\u202eabc"),
        ("x" * 200, "x" * 119 + "…"),
    ],
)
def test_foreign_text_cannot_move_the_cursor_or_break_the_line(text: str, shown: str) -> None:
    assert quote(text) == shown


TASK_HASH = "02561f7f5e1a08684d7d6572df2e046910171cc0d1237836d756a145b5e68850"
