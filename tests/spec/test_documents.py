from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from assay.spec.documents import parse_document
from assay.spec.documents import read_document
from assay.spec.errors import AssayError
from assay.spec.errors import DocumentError
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.noun import Document
from assay.spec.solution import Solution
from assay.spec.task import Task
from assay.spec.workload import Workloads
from tests.spec.examples import SOLUTION
from tests.spec.examples import TASK
from tests.spec.examples import WORKLOADS

KINDS: list[tuple[type[Document], dict[str, Any]]] = [
    (Task, TASK),
    (Workloads, WORKLOADS),
    (Solution, SOLUTION),
]


def spoilt(document: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A copy with one dotted key replaced."""
    result = copy.deepcopy(document)
    place: Any = result
    *path, last = key.split(".")
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[int(last) if isinstance(place, list) else last] = value
    return result


def complaint(value: Any, kind: type[Document] = Task) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_document(value, kind, "task.toml")
    return str(caught.value)


@pytest.mark.parametrize(("kind", "example"), KINDS)
def test_a_document_survives_the_way_to_json_and_back(
    kind: type[Document], example: dict[str, Any]
) -> None:
    noun = parse_document(example, kind, "here")
    again = parse_document(json.loads(json.dumps(noun.content())), kind, "here")
    assert again == noun
    assert again.content_hash == noun.content_hash


def test_toml_and_json_of_the_same_content_are_the_same_noun(tmp_path: Path) -> None:
    (tmp_path / "solution.json").write_text(json.dumps(SOLUTION))
    (tmp_path / "solution.toml").write_text(
        'schema = "assay.solution.1"\nname = "vectorised"\nlanguage = "cpp"\n'
        'sources = ["kernel.cpp", "lanes/row.h"]\nentry = "kernel.cpp"\n'
        "[search]\nunroll = [1, 2, 4]\nprefetch = [true, false]\n[config]\nunroll = 4\n"
    )
    one = read_document(tmp_path / "solution.json", Solution)
    assert one == read_document(tmp_path / "solution.toml", Solution)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("nmae", "x", "task.toml: key nmae: Extra inputs are not permitted, got 'x'"),
        ("summary", 3, "task.toml: key summary: Input should be a valid string, got 3"),
        (
            "domain.axes.width.high",
            "8192",
            "task.toml: key domain.axes.width.high: Input should be a valid integer, got '8192'",
        ),
        (
            "domain.axes.width.high",
            8192.0,
            "task.toml: key domain.axes.width.high: Input should be a valid integer, got 8192.0",
        ),
        (
            "domain.axes.width.high",
            True,
            "task.toml: key domain.axes.width.high: Input should be a valid integer, got True",
        ),
        (
            "domain.axes.width.high",
            10**30,
            "task.toml: key domain.axes.width.high: too large a number",
        ),
        (
            "functions.0.options.0.high",
            float("nan"),
            "task.toml: key functions.0.options.0.high: not a finite number",
        ),
        (
            "functions.0.options.0.high",
            float("-inf"),
            "task.toml: key functions.0.options.0.high: not a finite number",
        ),
        ("schema", "assay.task.9", 'key schema: schema is "assay.task.9" (this version reads'),
        ("schema", 7, 'key schema: schema is "7" (this version reads "assay.task.1")'),
        ("name", "a\x1b[31mb", "key name: String should match pattern"),
        ("name", "../up", "key name: String should match pattern"),
        ("summary", "two\nlines", "key summary: String should match pattern"),
        ("summary", "half \ud800", "task.toml: key summary: holds half a character"),
        ("baselines.0.primary", False, "exactly one baseline is primary, not 0"),
        ("baselines.1.primary", True, "exactly one baseline is primary, not 2"),
        ("baselines.1.name", "naive", "two baselines have one name"),
        ("baselines.0.kind", "magic", "key baselines.0: Input tag 'magic' found using 'kind'"),
        ("baselines.0.path", "../../etc", "a path relative to its folder"),
        ("functions.0.arguments.0.dtypes", None, "argument x needs dtypes or like"),
        ("functions.0.arguments.1.like", "z", "w is like z, which is no argument"),
        ("functions.0.arguments.0.shape", ["*batch", "*width"], "more than one * axis"),
        ("functions.0.arguments.0.shape", ["depth"], "axis depth is not in the domain"),
        ("functions.0.arguments.2.role", "input", "function rms_norm has no output"),
        ("functions.0.arguments.1.name", "x", "two arguments of one name"),
        ("functions.0.options.0.low", None, "option eps needs either choices, or low and high"),
        ("domain.axes.width.low", 9000, "low 9000 is above high 8192"),
        ("domain.axes.width.multiple_of", 8193, "no multiple of 8193 between 1 and 8192"),
        ("domain.rank", [3, 1], "rank 3 to 1 is empty"),
        ("tolerance", {"maximum_factor": 50.0}, "looser than the default need a reason"),
    ],
)
def test_each_mistake_has_its_line(key: str, value: Any, line: str) -> None:
    message = complaint(spoilt(TASK, key, value))
    assert line in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("entry", "other.cpp", "entry other.cpp is not among the sources"),
        ("sources", ["kernel.cpp", "kernel.cpp"], "a source is named twice"),
        ("sources", ["/etc/passwd"], "key sources.0: String should match pattern"),
        ("sources", ["a/../../b"], "a path relative to its folder, without . or .."),
        ("config", {"unroll": 3}, "config unroll=3 is outside the declared search space"),
        ("config", {"unroll": True}, "config unroll=True is outside the declared search space"),
        ("config", {"tile": 1}, "config tile=1 is outside the declared search space"),
        ("search", {"unroll": []}, "key search.unroll: Tuple should have at least 1 item"),
    ],
)
def test_a_solution_cannot_leave_its_folder_or_its_search_space(
    key: str, value: Any, line: str
) -> None:
    assert line in complaint(spoilt(SOLUTION, key, value), Solution)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("rows.0.tensors.x.shape", [-1, 128], "key rows.0.tensors.x.shape.0: Input should be"),
        ("rows.0.tensors.x.strides", [128], "1 strides for 2 axes"),
        ("rows.0.tensors.x.shape", [2**39, 4], "more than 1099511627776 elements"),
        ("rows.0.tensors.x.dtype", "fp32", "key rows.0.tensors.x.dtype: Input should be 'float64'"),
        ("rows.0.options.eps", [1], "key rows.0.options.eps"),
    ],
)
def test_a_row_says_where_it_is_wrong(key: str, value: Any, line: str) -> None:
    assert line in complaint(spoilt(WORKLOADS, key, value), Workloads)


def test_two_rows_of_one_id_are_refused() -> None:
    twice = {**WORKLOADS, "rows": WORKLOADS["rows"] * 2}
    assert "two rows are called m4096_d128" in complaint(twice, Workloads)


def test_several_mistakes_are_counted_and_the_first_is_told() -> None:
    both = spoilt(spoilt(TASK, "summary", 3), "name", 4)
    assert complaint(both).endswith("(and 1 more)")


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("t.toml", b"a = ", "not TOML: "),
        ("t.toml", b"a = 1\na = 2", "not TOML: Cannot overwrite a value"),
        ("t.toml", b"\xff\xfe", "not UTF-8 at byte 0"),
        ("t.toml", b"schema = 1979-05-27", "key schema: a date, which no field takes"),
        ("t.toml", b"a = " + b"[" * 9000, "nested too deeply"),
        ("t.json", b"{", "not JSON: "),
        ("t.json", b'{"a": 1, "a": 2}', "not JSON: key a stands twice"),
        ("t.json", b'{"a": NaN}', "not JSON: NaN is not a number that JSON knows"),
        ("t.json", b'{"a": -Infinity}', "not JSON: -Infinity is not a number"),
        ("t.json", b'{"a": 1e999}', "key a: not a finite number"),
        ("t.json", b'{"a": ' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
        ("t.json", b"[" * 100_000, "nested too deeply"),
        ("t.json", b"[" * 70 + b"]" * 70, "the top level is not a table"),
        ("t.json", b'{"a":' * 70 + b"1" + b"}" * 70, "nested too deeply"),
        ("t.json", b"[]", "the top level is not a table"),
        ("t.json", b"", "not JSON: "),
        ("t.json", b"{}", "key schema: schema is missing"),
        ("t.yaml", b"", "not a .toml or .json file"),
    ],
)
def test_a_file_that_does_not_parse_has_one_line(
    tmp_path: Path, name: str, content: bytes, line: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_document(path, Task)
    message = str(caught.value)
    assert line in message
    assert name in message
    assert "\n" not in message
    assert caught.value.exit_status is ExitStatus.MISUSE
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_has_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone.toml: cannot be read: No such file"):
        read_document(tmp_path / "gone.toml", Task)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_document(tmp_path / "folder.toml", Task)


def test_a_file_larger_than_any_task_is_refused_unparsed(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(33 * 2**20)
    with pytest.raises(DocumentError, match="larger than 33554432 bytes"):
        read_document(path, Task)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**300, max_value=10**400)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(alphabet=st.characters(exclude_categories=()), max_size=40)
    | st.sampled_from(["../x", "\x1b]0;t\x07", "a\r\nb", "‮abc", "'; DROP TABLE rows; --"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(alphabet=st.characters(exclude_categories=())), inner, max_size=4)
    ),
    max_leaves=12,
)


def keys_of(value: Any, prefix: str = "") -> list[str]:
    """Every dotted key of a document, inner ones too."""
    found = []
    items = enumerate(value) if isinstance(value, list) else value.items()
    for key, part in items:
        found.append(f"{prefix}{key}")
        if isinstance(part, dict | list):
            found += keys_of(part, f"{prefix}{key}.")
    return found


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), value=VALUES)
def test_any_value_in_any_place_is_taken_or_refused_in_one_line(data: Any, value: Any) -> None:
    kind, example = data.draw(st.sampled_from(KINDS))
    key = data.draw(st.sampled_from(keys_of(example)))
    document = spoilt(example, key, value)
    try:
        noun = parse_document(document, kind, "file")
    except AssayError as error:
        line = str(error)
        assert line.isprintable()
        assert "file" in line
        assert len(line) < 600
    else:
        # Nothing was coerced: what was read says the same as what was written.
        dumped = noun.content()
        place: Any = dumped
        for part in key.split("."):
            place = place[int(part)] if isinstance(place, list) else place[part]
        assert place == value
        assert type(place) is type(value) or {type(place), type(value)} == {int, float}


@settings(max_examples=300)
@given(data=st.binary(max_size=300), suffix=st.sampled_from([".toml", ".json"]))
def test_any_bytes_are_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("bytes") / f"file{suffix}"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_document(path, Task)
    assert str(caught.value).isprintable()
    assert f"file{suffix}" in str(caught.value)
