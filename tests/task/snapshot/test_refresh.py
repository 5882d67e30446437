from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.spec.errors import UsageError
from assay.task.snapshot.refresh import Refreshed
from assay.task.snapshot.refresh import refresh
from assay.task.snapshot.restore import restore
from assay.task.snapshot.stored import read_lock
from tests.task.snapshot.making import FILES
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import contents
from tests.task.snapshot.making import publish

NEWER = {
    **FILES,
    "tiny/__init__.py": "from tiny.server import serve, stop\n",
    "tiny/ops/act.py": FILES["tiny/ops/act.py"].replace(".late import", ".later import"),
    "tiny/ops/later.py": FILES["tiny/ops/late.py"],
}


def again(place: Path, wheels: Path, version: str = "1.1", **options: Any) -> Refreshed:
    return refresh(place, version, target=TARGET, wheels=wheels, **options)


def complaint(place: Path, wheels: Path, **options: Any) -> str:
    before = contents(place)
    with pytest.raises(UsageError) as caught:
        again(place, wheels, **options)
    assert contents(place) == before
    return str(caught.value)


def test_what_came_went_and_changed_is_named(pinned: Path, wheels: Path) -> None:
    publish(wheels, "1.1", NEWER, requires=("torch>=2.2",))
    refreshed = again(pinned, wheels)
    changes = refreshed.changes
    assert changes.came == ("tiny/ops/later.py",)
    assert changes.went == ("tiny/ops/late.py",)
    assert changes.changed == ("tiny/ops/act.py",)
    assert changes.shims_to_read == ("tiny",)
    assert changes.requires == ("torch>=2.2",)
    assert not changes.none
    lock = read_lock(pinned)
    assert (refreshed.before.version, lock.version) == ("1.0", "1.1")
    assert lock == refreshed.draft.lock
    assert (pinned / "snapshot/tiny/ops/later.py").is_file()
    assert not (pinned / "snapshot/tiny/ops/late.py").exists()
    assert restore(pinned, wheels=wheels).lock == lock


def test_the_same_files_under_a_newer_version_are_no_change(pinned: Path, wheels: Path) -> None:
    publish(wheels, "1.1")
    refreshed = again(pinned, wheels)
    assert refreshed.changes.none
    assert refreshed.draft.lock.files == refreshed.before.files


def test_a_shim_that_was_edited_is_pinned_by_refreshing_the_same_version(
    pinned: Path, wheels: Path
) -> None:
    shim = pinned / "shims/tiny/__init__.py"
    shim.write_text("NAME = 1\n")
    refreshed = again(pinned, wheels, "1.0")
    assert refreshed.changes.none
    assert read_lock(pinned).shims[0].file.bytes == len(shim.read_bytes())


def test_an_entry_that_is_gone_ends_it(pinned: Path, wheels: Path) -> None:
    publish(wheels, "1.1", {**FILES, "tiny/ops/act.py": "def swish(x): ...\n"})
    assert "tiny 1.1: there is no entry tiny.ops.act:silu" in complaint(pinned, wheels)
    publish(wheels, "1.1", {p: t for p, t in FILES.items() if p != "tiny/ops/act.py"})
    assert "tiny 1.1: there is no module tiny.ops.act" in complaint(pinned, wheels)


def test_a_version_that_is_not_there_ends_it(pinned: Path, wheels: Path) -> None:
    assert "no wheel of tiny 1.1 (there is tiny 1.0)" in complaint(pinned, wheels)


def test_a_shim_that_nothing_needs_any_more_is_left_out_by_name(pinned: Path, wheels: Path) -> None:
    publish(wheels, "1.1", {p: t for p, t in FILES.items() if p != "tiny/__init__.py"})
    assert "there is no module to stand in for tiny" in complaint(pinned, wheels)
    refreshed = again(pinned, wheels, without=("tiny",))
    assert refreshed.draft.lock.shims == ()
