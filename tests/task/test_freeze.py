from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from assay.task import load_task
from assay.task.freeze import FREEZE_FILE
from assay.task.freeze import FreezeStatus
from assay.task.freeze import freeze

FILES = [
    "task.toml",
    "workloads.json",
    "reference.py",
    "baselines/naive/silu.py",
    "baselines/naive/solution.toml",
]


@pytest.fixture
def frozen(folder: Path) -> Path:
    freeze(folder, load_task(folder).task)
    return folder


def test_a_new_task_is_not_frozen(folder: Path) -> None:
    state = load_task(folder).freeze_state
    assert state.status is FreezeStatus.NOT_FROZEN
    assert str(state) == "not frozen"


def test_freezing_writes_the_hash_of_every_file_that_defines_the_task(frozen: Path) -> None:
    document = json.loads((frozen / FREEZE_FILE).read_text())
    assert document["schema"] == "assay.freeze.1"
    assert document["task"] == "own/silu"
    assert [file["path"] for file in document["files"]] == FILES
    for file in document["files"]:
        assert file["sha256"] == sha256_hex((frozen / file["path"]).read_bytes())
    assert load_task(frozen).freeze_state.status is FreezeStatus.FROZEN


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_named(frozen: Path, name: str) -> None:
    with (frozen / name).open("a") as file:
        file.write("\n")
    state = load_task(frozen).freeze_state
    assert state.status is FreezeStatus.CHANGED
    assert str(state) == f"changed {name}"


def test_a_new_and_a_missing_file_of_a_baseline_are_named(frozen: Path) -> None:
    (frozen / "baselines/naive/extra.py").touch()
    (frozen / "baselines/naive/silu.py").unlink()
    state = load_task(frozen).freeze_state
    assert state.added == ("baselines/naive/extra.py",)
    assert state.missing == ("baselines/naive/silu.py",)
    assert str(state) == "missing baselines/naive/silu.py; new baselines/naive/extra.py"


def test_solutions_and_compiled_python_do_not_count(frozen: Path) -> None:
    (frozen / "solutions/candidate/silu.py").write_text("# other")
    cache = frozen / "baselines/naive/__pycache__"
    cache.mkdir()
    (cache / "silu.pyc").touch()
    assert load_task(frozen).freeze_state.status is FreezeStatus.FROZEN


def test_freezing_again_accepts_what_is_there_now(frozen: Path) -> None:
    with (frozen / "reference.py").open("a") as file:
        file.write("# reworded\n")
    freeze(frozen, load_task(frozen).task)
    assert load_task(frozen).freeze_state.status is FreezeStatus.FROZEN
    assert [path.name for path in (frozen / "evidence").iterdir()] == ["freeze.json"]


def test_a_missing_baseline_and_a_broken_freeze_are_one_line(frozen: Path) -> None:
    task = load_task(frozen)
    (frozen / FREEZE_FILE).write_text("{}")
    with pytest.raises(UsageError, match="schema is missing"):
        task.freeze_state  # noqa: B018
    shutil.rmtree(frozen / "baselines/naive")
    with pytest.raises(UsageError, match="the baseline's folder is missing"):
        freeze(frozen, task.task)


def test_a_folder_that_cannot_be_written_is_a_storage_error(folder: Path) -> None:
    (folder / "evidence").touch()
    with pytest.raises(StorageError, match=r"freeze.json: cannot be written"):
        freeze(folder, load_task(folder).task)
