from __future__ import annotations

from pathlib import Path

import pytest

from assay.task.new import new_task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task folder that is right in every respect, to be spoilt one file at a time."""
    new_task(tmp_path / "silu", "own/silu")
    return tmp_path / "silu"
