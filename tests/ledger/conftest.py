from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk, where only the order of the bytes is under test."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
