from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.runner import isolate


def test_only_what_python_needs_below_a_hidden_folder_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "source").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    inner = [str(tmp_path / "venv" / "lib"), str(tmp_path / "source"), str(tmp_path / "gone"), ""]
    monkeypatch.setattr(sys, "path", inner)
    # The venv's lib goes with the venv; what is not there is not mounted.
    assert isolate._needed_below((str(tmp_path),)) == [
        str(tmp_path / "source"),
        str(tmp_path / "venv"),
    ]
    assert isolate._needed_below(("/nowhere",)) == []
