from __future__ import annotations

from pathlib import Path

import pytest

from assay.task.snapshot.make import snapshot
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import make_task
from tests.task.snapshot.making import publish
from tests.task.snapshot.making import recipe


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with version 1.0 of the tiny package."""
    publish(tmp_path / "wheels")
    return tmp_path / "wheels"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a baseline that has no lock yet."""
    return make_task(tmp_path / "silu")


@pytest.fixture
def pinned(place: Path, wheels: Path) -> Path:
    """The same with its lock and its snapshot."""
    snapshot(place, recipe(), target=TARGET, wheels=wheels)
    return place
