from __future__ import annotations

from pathlib import Path

import pytest
import torch

from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.task import find_solution
from assay.task import load_task
from assay.task.new import new_task
from tests.task.calling import call
from tests.task.calling import expected
from tests.task.calling import make_tensors


@pytest.mark.parametrize(
    ("name", "function"),
    [("own/silu", "silu"), ("x", "x"), ("a/b/c-d.e", "c_d_e"), ("own/2d", "f_2d")],
)
def test_a_new_task_loads_and_is_right(tmp_path: Path, name: str, function: str) -> None:
    made = new_task(tmp_path / "a/new", name)
    assert made.task.name == name
    assert load_task(tmp_path / "a/new").content_hash == made.content_hash
    (described,) = made.task.functions
    assert described.name == function
    (row,) = made.workloads.rows
    tensors = make_tensors(described, row)
    truth = expected(made, described, tensors, row)
    for solution in ("naive", "candidate"):
        answer = call(find_solution(made, solution), described, tensors, row)
        torch.testing.assert_close(answer.double(), truth, rtol=1e-6, atol=1e-6)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="there is something already"):
        new_task(tmp_path, "own/silu")
    with pytest.raises(UsageError, match="there is something already"):
        new_task(tmp_path / "notes.txt", "own/silu")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["", "/a", "a/", "a b", "a//b", "ä", "../a", "x" * 51])
def test_a_bad_name_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        new_task(tmp_path / "new", name)
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        new_task(tmp_path / "file/new", "own/silu")
