"""Stopwatch: where the time of a judgement goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by the name of what they were spent on. Parts may lie within each other; then each
    has what is its own.

    >>> watch = Stopwatch()
    >>> with watch.on("exam"), watch.on("build"):
    ...     pass
    >>> sorted(watch.seconds)
    ['build', 'exam']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = [0.0]

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        begun = time.monotonic()
        self._inner.append(0.0)
        try:
            yield
        finally:
            taken = time.monotonic() - begun
            own = taken - self._inner.pop()
            self._inner[-1] += taken
            self.seconds[name] = self.seconds.get(name, 0.0) + own
