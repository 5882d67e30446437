from __future__ import annotations

from pathlib import Path

import pytest

from assay.spec.errors import UsageError
from assay.task.catalogue import catalogue
from assay.task.new import new_task

SHIPPED = [
    "cpu/group_norm_silu",
    "cpu/layer_norm_scale_shift",
    "cpu/rms_norm",
    "cpu/rotary_embedding",
    "cuda/rms_norm",
    "cuda/scale_residual",
    "diffusion/fuse_scale_shift",
    "diffusion/group_norm_silu",
    "diffusion/norm_infer",
    "diffusion/norm_scale_shift",
    "diffusion/norm_tanh_mul_add",
    "diffusion/qknorm_rope",
    "diffusion/rotary_embedding",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_shipped_tasks_come_first_then_those_of_the_project() -> None:
    new_task(Path("tasks/own/silu"), "own/silu")
    entries = catalogue()
    assert [entry.address for entry in entries] == [*SHIPPED, "own/silu"]
    assert [entry.shipped for entry in entries] == [True] * len(SHIPPED) + [False]
    assert all(entry.folder is not None for entry in entries)


def test_a_task_that_a_shipped_name_hides_is_listed_by_its_path() -> None:
    new_task(Path("tasks/cpu/rms_norm"), "cpu/rms_norm")
    assert catalogue()[-1].address == "tasks/cpu/rms_norm"


def test_a_given_folder_is_looked_through_instead(tmp_path: Path) -> None:
    new_task(Path("b/deep/er"), "b")
    new_task(Path("a"), "a")
    Path(".hidden").mkdir()
    assert [entry.address for entry in catalogue(tmp_path)] == [
        str(tmp_path / "a"),
        str(tmp_path / "b/deep/er"),
    ]
    with pytest.raises(UsageError, match="not a folder"):
        catalogue(Path("nowhere"))


def test_a_task_that_does_not_load_is_listed_with_the_reason() -> None:
    new_task(Path("tasks/own"), "own")
    Path("tasks/own/reference.py").unlink()
    entry = catalogue()[-1]
    assert entry.folder is None
    assert entry.problem == "tasks/own/reference.py: there is no such file"
