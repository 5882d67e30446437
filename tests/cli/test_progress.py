"""The bar must not disturb what it shows."""

from __future__ import annotations

import threading

import pytest
from rich.console import Console

from assay.cli._progress import progress_bar
from assay.judge.sitting import Progress


def test_no_thread_draws_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the captured stream for a terminal
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()
    with progress_bar() as report:
        report(Progress(1, 4, "row throughput"))
        assert threading.active_count() == before
        assert Console(stderr=True).is_terminal
    assert "row throughput" in capsys.readouterr().err
