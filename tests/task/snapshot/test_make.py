from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.lock import BaselineLock
from assay.spec.noun import sha256_hex
from assay.task.snapshot.make import Draft
from assay.task.snapshot.make import snapshot
from assay.task.snapshot.obtain import read_pin
from assay.task.snapshot.stored import read_lock
from tests.task.snapshot.making import CLOSURE
from tests.task.snapshot.making import FILES
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import contents
from tests.task.snapshot.making import publish
from tests.task.snapshot.making import recipe


def make(place: Path, wheels: Path, **changes: Any) -> Draft:
    return snapshot(place, recipe(**changes), target=TARGET, wheels=wheels)


def complaint(place: Path, wheels: Path, **changes: Any) -> str:
    """The one line; nothing may have been written."""
    before = contents(place)
    with pytest.raises(UsageError) as caught:
        make(place, wheels, **changes)
    assert contents(place) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_lock_names_every_file_by_its_hash_and_nothing_else_is_written(
    place: Path, wheels: Path
) -> None:
    before = contents(place)
    steps: list[str] = []
    snapshot(place, recipe(), target=TARGET, wheels=wheels, report=steps.append)
    after = contents(place)
    assert steps == ["the wheel", "its imports", "writing"]
    assert set(after) - set(before) == {"baseline.lock", *(f"snapshot/{path}" for path in CLOSURE)}
    lock = read_lock(place)
    wheel = next(wheels.glob("*.whl"))
    assert (lock.package, lock.version, lock.wheel) == ("tiny", "1.0", wheel.name)
    assert lock.wheel_sha256 == sha256_hex(wheel.read_bytes())
    assert {file.path: file.sha256 for file in lock.files} == {
        path: sha256_hex(FILES[path].encode()) for path in CLOSURE
    }
    assert all(after[f"snapshot/{path}"] == FILES[path].encode() for path in CLOSURE)
    assert lock.entries["silu"].entry == "tiny.ops.act:silu"
    assert lock.entries["silu"].kernels == ()
    assert lock.requires == ("torch>=2.1",)
    (shim,) = lock.shims
    assert (shim.module, shim.reason) == ("tiny", "imports the server")
    assert shim.file.path == "tiny/__init__.py"
    assert shim.file.sha256 == sha256_hex(before["shims/tiny/__init__.py"])
    assert shim.replaces == sha256_hex(FILES["tiny/__init__.py"].encode())


def test_equal_recipes_give_equal_locks(place: Path, wheels: Path) -> None:
    first = make(place, wheels).lock
    assert make(place, wheels).lock == first
    assert BaselineLock(**dict(first)).worked_out == first.seal


def test_what_people_wrote_into_a_lock_is_kept(pinned: Path, wheels: Path) -> None:
    path = pinned / "baseline.lock"
    content = json.loads(path.read_text())
    content["note"] = "ours"
    content["environment"] = {"TINY_CACHE": "{cache}/tiny"}
    content["contract"]["contiguous"] = True
    content["entries"]["silu"]["kernels"] = ["silu_*"]
    path.write_text(json.dumps(content))
    lock = make(pinned, wheels, also=("tiny.ops.unused",)).lock
    assert (lock.note, lock.environment) == ("ours", {"TINY_CACHE": "{cache}/tiny"})
    assert lock.contract.contiguous
    assert lock.entries["silu"].kernels == ("silu_*",)
    assert read_lock(pinned) == lock


def test_modules_and_files_that_no_import_names_are_added(place: Path, wheels: Path) -> None:
    also = ("tiny.ops.unused", "tiny/include/tiny_kernel/alone.cuh")
    draft = make(place, wheels, also=also)
    assert set(draft.files) - CLOSURE == {"tiny/ops/unused.py", also[1]}
    assert draft.lock.also == also


def test_a_missing_wheel_and_a_wrong_version_say_what_there_is(place: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    line = complaint(place, tmp_path / "none")
    assert line == f"{tmp_path}/none: no wheel of tiny 1.0 (fetch it with pip download)"
    publish(tmp_path / "others", "0.9")
    publish(tmp_path / "others", "1.1")
    line = complaint(place, tmp_path / "others")
    assert line.endswith("no wheel of tiny 1.0 (there is tiny 0.9, 1.1)")
    assert "not a folder" in complaint(place, tmp_path / "nowhere")


def test_a_wheel_that_is_another_version_inside_is_refused(place: Path, tmp_path: Path) -> None:
    publish(tmp_path / "lies", inside="0.9")
    assert "a wheel of tiny 0.9, not of tiny 1.0" in complaint(place, tmp_path / "lies")


def test_a_damaged_wheel_is_refused(place: Path, wheels: Path) -> None:
    wheel = next(wheels.glob("*.whl"))
    wheel.write_bytes(wheel.read_bytes()[:-40])
    assert "a damaged wheel" in complaint(place, wheels)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "tiny.ops.act:silo",
            "there is no entry tiny.ops.act:silo (did you mean tiny.ops.act:silu",
        ),
        ("tiny.ops.acts:silu", "there is no module tiny.ops.acts (did you mean tiny.ops.act"),
        ("tiny.ops:gelu", "there is no entry tiny.ops:gelu"),
        ("tiny.ops.act", "tiny.ops.act is not MODULE:ATTRIBUTE"),
        ("tiny.ops.act:", "tiny.ops.act: is not MODULE:ATTRIBUTE"),
    ],
)
def test_an_entry_that_does_not_exist_is_one_line(
    place: Path, wheels: Path, entry: str, said: str
) -> None:
    assert said in complaint(place, wheels, entries={"silu": entry})


def test_an_entry_may_be_a_name_of_a_lazy_facade(place: Path, wheels: Path) -> None:
    assert make(place, wheels, entries={"silu": "tiny.ops:silu"}).lock.entries


@pytest.mark.parametrize(
    ("shims", "said"),
    [
        ({"tiny": "x", "tiny.nothing": "x"}, "there is no module to stand in for tiny.nothing"),
        ({"tiny": "x", "tiny.models": "x"}, "the shim for tiny.models is not written"),
        ({"tiny": "x", "tiny.server": "x"}, "a shim for tiny.server, which nothing in the closure"),
        ({"tiny": "x", "tiny.ops.act": "x"}, "a shim for tiny.ops.act, which is an entry itself"),
    ],
)
def test_a_shim_that_makes_no_sense_is_one_line(
    place: Path, wheels: Path, shims: dict[str, str], said: str
) -> None:
    for name in ("server.py", "ops/act.py"):
        path = place / "shims/tiny" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    assert said in complaint(place, wheels, shims=shims)


def test_a_closure_that_needs_a_package_nobody_brings_is_one_line(
    place: Path, wheels: Path
) -> None:
    publish(wheels, requires=("torch",))
    line = complaint(place, wheels, shims={})
    assert (
        "tiny.server imports tiny_web, which is not installed, and no requirement of tiny" in line
    )
    stated = {"tiny_web": "tiny-web"}
    assert make(place, wheels, shims={}, provides=stated).lock.requires == ("tiny-web", "torch")
    publish(wheels)
    assert make(place, wheels, shims={}).lock.requires == ("tiny-web==3", "torch>=2.1")


def test_a_recipe_that_no_lock_can_hold_is_one_line(place: Path, wheels: Path) -> None:
    assert "no lock can say this" in complaint(place, wheels, shims={"tiny": "two\nlines"})
    assert "no lock can say this" in complaint(
        place, wheels, entries={"si lu": "tiny.ops.act:silu"}
    )


def test_a_folder_that_cannot_be_written_is_left_as_it_was(
    pinned: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(pinned)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    # The last step of all: the old snapshot has been moved away by then.
    monkeypatch.setattr("assay.task.snapshot.place.os.replace", refuse)
    with pytest.raises(StorageError, match="No space left on device"):
        make(pinned, wheels, also=("tiny.ops.unused",))
    assert contents(pinned) == before
    assert not [path for path in pinned.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("text", ["tiny", "tiny>=1", "tiny==", "==1", "tiny==1.0 ", "tiny==x y"])
def test_a_package_has_to_be_pinned(text: str) -> None:
    with pytest.raises(UsageError, match="is no pinned package"):
        read_pin(text)
    assert read_pin("sglang==0.5.23") == ("sglang", "0.5.23")
