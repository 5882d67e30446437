"""The noise of a real device, made up; knows nothing of blocks, ratios or verdicts.

A reading is what the clock sees at once: one launch in the latency lane, one batch of launches in
the throughput lane. All parts act on readings.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import exp
from math import sqrt

from assay.device.fake import Disturbed
from assay.spec.sample import Disturbance


@dataclass(frozen=True)
class NoiseLevel:
    """How strong each part is; the defaults are what the rules are proven under."""

    drift: float = 0.0015
    """Standard deviation of the random walk's step, per reading."""
    jitter: float = 0.006
    """Scale of Student's t with four degrees of freedom."""
    process: float = 0.003
    """Standard deviation of the offset that a process keeps for life."""
    outlier_rate: float = 1 / 50
    outlier_factor: float = 3.0


PROVEN_UNDER = NoiseLevel()


class SimulatedNoise:
    """Drift, jitter, process offsets and outliers, from one seeded source."""

    def __init__(self, seed: int, level: NoiseLevel = PROVEN_UNDER) -> None:
        self._random = random.Random(seed)
        self._level = level
        self._walk = 0.0

    def process_started(self) -> float:
        return exp(self._random.gauss(0.0, self._level.process))

    def reading(self, now: float, seconds: float) -> Disturbed:
        level = self._level
        self._walk += self._random.gauss(0.0, level.drift)
        factor = exp(self._walk + level.jitter * self._student_t4())
        if self._random.random() < level.outlier_rate:
            factor *= level.outlier_factor
        return Disturbed(factor=factor)

    def _student_t4(self) -> float:
        chi_square = sum(self._random.gauss(0.0, 1.0) ** 2 for _ in range(4))
        return self._random.gauss(0.0, 1.0) / sqrt(chi_square / 4)


@dataclass(frozen=True)
class Episode:
    """A span of device time in which something happens to every reading."""

    start: float
    end: float
    factor: float = 1.0
    seen: tuple[Disturbance, ...] = ()
    clock_mhz: int | None = None
    step_seconds: float = 0.0


def throttling(start: float, end: float) -> Episode:
    """The card falls to 60 % of its clock and says so."""
    return Episode(start, end, 1 / 0.6, (Disturbance.THROTTLED,), 1188)


def foreign_work(start: float, end: float, *, reported: bool = True) -> Episode:
    """Another process takes half of the device; not every host lets one see that."""
    return Episode(start, end, 2.0, (Disturbance.FOREIGN_WORK,) if reported else ())


def clock_step(start: float, end: float, seconds: float) -> Episode:
    """The clock is set back or forward while a batch runs."""
    return Episode(start, end, step_seconds=seconds)


class WithEpisodes:
    """Another noise, with episodes on top."""

    def __init__(self, noise: SimulatedNoise, episodes: tuple[Episode, ...]) -> None:
        self._noise = noise
        self._episodes = episodes

    def process_started(self) -> float:
        return self._noise.process_started()

    def reading(self, now: float, seconds: float) -> Disturbed:
        base = self._noise.reading(now, seconds)
        for episode in self._episodes:
            if episode.start <= now < episode.end:
                return Disturbed(
                    factor=base.factor * episode.factor,
                    step_seconds=episode.step_seconds,
                    seen=episode.seen,
                    clock_mhz=episode.clock_mhz,
                )
        return base
