"""Verdicts made by hand."""

from __future__ import annotations

from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import Measurement
from assay.spec.verdict import RowVerdict
from assay.spec.verdict import WrongValue


def timed(
    row: str,
    status: Status,
    ratio: float,
    *,
    half: float = 0.001,
    floor: float = 0.005,
    lane: Lane = Lane.THROUGHPUT,
    baseline_us: float = 100.0,
) -> RowVerdict:
    interval = (ratio * (1 - half), ratio * (1 + half))
    measurement = Measurement(
        ratio=ratio,
        interval=interval,
        floor=floor,
        baseline_us=baseline_us,
        candidate_us=baseline_us / ratio,
        generations=8,
        blocks=80,
        sign_test_p=0.004,
        echo_ratio=1.0,
    )
    return RowVerdict(
        row=row,
        lane=lane,
        status=status,
        ratio=ratio,
        interval=interval,
        baseline_us=measurement.baseline_us,
        candidate_us=measurement.candidate_us,
        measurement=measurement,
        reason="made by hand",
    )


def wrong(row: str) -> RowVerdict:
    return RowVerdict(
        row=row,
        lane=Lane.THROUGHPUT,
        status=Status.WRONG_VALUE,
        reason="3 of 8 elements of y",
        wrong=WrongValue(
            row=row,
            distribution="normal",
            output="y",
            first_bad_index=(0, 2),
            expected="1.0",
            got="nan",
            wrong_elements=3,
            elements=8,
            reproduce="assay judge cpu/rms_norm --reproduce 1234",
        ),
    )


def violation(row: str, kind: ViolationKind) -> RowVerdict:
    return RowVerdict(
        row=row, lane=Lane.THROUGHPUT, status=Status.VIOLATION, violation=kind, reason="caught"
    )
