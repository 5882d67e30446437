from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.spec.errors import AssayError
from assay.spec.errors import DocumentError
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.snapshot.obtain import target_of
from assay.task.snapshot.restore import restore
from assay.task.snapshot.stored import read_lock
from tests.task.snapshot.making import FILES
from tests.task.snapshot.making import contents
from tests.task.snapshot.making import publish


def complaint(place: Path, wheels: Path, kind: type[AssayError] = UsageError) -> str:
    """The one line; nothing may have been written."""
    before = contents(place)
    with pytest.raises(kind) as caught:
        restore(place, wheels=wheels)
    assert contents(place) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_lock_alone_gives_the_same_snapshot_again(pinned: Path, wheels: Path) -> None:
    before = contents(pinned)
    shutil.rmtree(pinned / "snapshot")
    steps: list[str] = []
    restored = restore(pinned, wheels=wheels, report=steps.append)
    assert contents(pinned) == before
    assert steps == ["the wheel", "its files", "writing"]
    assert restored.lock == read_lock(pinned)
    assert restored.bytes == sum(file.bytes for file in restored.lock.files)


def test_what_was_changed_or_added_in_the_snapshot_is_gone_afterwards(
    pinned: Path, wheels: Path
) -> None:
    before = contents(pinned)
    (pinned / "snapshot/tiny/ops/act.py").write_text("changed")
    (pinned / "snapshot/tiny/more.py").write_text("added")
    restore(pinned, wheels=wheels)
    assert contents(pinned) == before


def test_a_missing_wheel_is_one_line(pinned: Path, wheels: Path) -> None:
    next(wheels.glob("*.whl")).unlink()
    assert complaint(pinned, wheels).endswith("no wheel of tiny 1.0 (fetch it with pip download)")
    publish(wheels, "1.1")
    assert complaint(pinned, wheels).endswith("no wheel of tiny 1.0 (there is tiny 1.1)")


def test_another_wheel_of_the_same_name_is_refused(pinned: Path, wheels: Path) -> None:
    publish(wheels, files={**FILES, "tiny/added.py": ""})
    line = complaint(pinned, wheels, EvidenceError)
    assert "tiny-1.0-py3-none-any.whl: not the wheel that was pinned: hash" in line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": "1.0"', '"version": "1.1"'),
        ('"tiny.ops.act:silu"', '"tiny.ops.late:factor"'),
        ('"path": "tiny/ops/late.py"', '"path": "tiny/ops/unused.py"'),
        ('"requires": [', '"requires": ["more",'),
        ('"module": "tiny"', '"module": "tiny.ops"'),
        ('"seal": "', '"seal": null, "note": "'),
    ],
)
def test_a_lock_that_was_edited_by_hand_is_refused(
    pinned: Path, wheels: Path, old: str, new: str
) -> None:
    path = pinned / "baseline.lock"
    text = path.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    path.write_text(text.replace('"note": null,', "") if "note" in new else text)
    line = complaint(pinned, wheels, DocumentError)
    assert f"{quote(path)}: edited by hand" in line


def test_what_is_for_people_to_write_may_be_edited(pinned: Path, wheels: Path) -> None:
    path = pinned / "baseline.lock"
    content = json.loads(path.read_text())
    content["entries"]["silu"] |= {"kernels": ["silu*"], "dtypes": ["float32"]}
    content["shims"][0]["reason"] = "a better one"
    content["environment"] = {"A": "b"}
    path.write_text(json.dumps(content))
    assert restore(pinned, wheels=wheels).lock.entries["silu"].kernels == ("silu*",)


def test_a_lock_that_is_no_lock_is_one_line(pinned: Path, wheels: Path) -> None:
    path = pinned / "baseline.lock"
    path.write_text("{")
    assert f"{quote(path)}: not JSON" in complaint(pinned, wheels)
    path.write_text('{"schema": "assay.lock.9"}')
    assert 'schema is "assay.lock.9"' in complaint(pinned, wheels)
    path.unlink()
    assert f"{quote(path)}: there is no such file" in complaint(pinned, wheels)


def test_the_target_is_that_of_the_locked_wheel() -> None:
    target = target_of("sglang-0.5.23-cp312-cp312-manylinux_2_34_x86_64.whl")
    assert (target.python, target.platforms) == ("3.12", ("manylinux_2_34_x86_64",))
    plain = target_of("tiny-1.0-py3-none-any.whl")
    assert (plain.python, plain.machine) == ("3.12", "x86_64")
    with pytest.raises(UsageError, match="no name of a wheel"):
        target_of("tiny.whl")
