from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assay.pack.carried import CarriedTask
from assay.pack.make import Packed
from assay.task.new import new_task
from tests.pack.making import make_pack
from tests.pack.making import make_wheel


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two wheels, of which the first asks for the second and for torch."""
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "tiny", requires=("smaller>=2", "torch>=2.1"))
    make_wheel(folder, "smaller", "2.5")
    return folder


@pytest.fixture(scope="session")
def carried(tmp_path_factory: pytest.TempPathFactory) -> CarriedTask:
    """A task of one's own, with a snapshot that git does not see."""
    folder = tmp_path_factory.mktemp("tasks") / "my_op"
    made = new_task(folder, "own/my_op")
    snapshot = folder / "baselines/upstream/snapshot/kernels"
    snapshot.mkdir(parents=True)
    (snapshot / "norm.py").write_text("def norm(x): ...\n")
    (folder / ".gitignore").write_text("snapshot/\n")
    return CarriedTask(made.task.name, folder, made.content_hash)


@pytest.fixture(scope="session")
def made(
    tmp_path_factory: pytest.TempPathFactory, wheels: Path, carried: CarriedTask
) -> tuple[Path, Packed]:
    """A pack, made once; who changes it takes a copy."""
    folder = tmp_path_factory.mktemp("made") / "pack"
    return folder, make_pack(folder, wheels, tasks=[carried], archive=True)


@pytest.fixture
def copy(made: tuple[Path, Packed], tmp_path: Path) -> Path:
    """A copy in another place: a pack holds no path but its own."""
    return Path(shutil.copytree(made[0], tmp_path / "a b" / "p"))
