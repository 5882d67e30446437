from __future__ import annotations

import time

import pytest

from assay.judge.stopwatch import Stopwatch


def test_each_part_has_what_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 4.0, 10.0, 10.0, 12.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    watch = Stopwatch()
    with watch.on("readings"), watch.on("start"):
        pass
    with watch.on("start"):
        pass
    assert watch.seconds == {"start": 5.0, "readings": 7.0}


def test_a_part_that_fails_is_counted_too() -> None:
    watch = Stopwatch()
    with pytest.raises(ValueError, match="x"), watch.on("exam"):
        raise ValueError("x")
    assert list(watch.seconds) == ["exam"]
