"""The cost of the defences: the arithmetic, the work that both ways share, what is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.spec.defences import ALL_DEFENCES
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.defences import Defences
from assay.spec.errors import EvidenceError
from assay.spec.lane import LaneTraits
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Rules
from assay.stats.looks import look_schedule
from assay.stats.plan import plan_row
from benchmarks import defences
from benchmarks import record
from benchmarks.defences import NO_DEFENCES
from benchmarks.defences import compared
from benchmarks.defences import fixed_rules
from benchmarks.defences import main

TASK = "cpu/rms_norm"


def test_everything_that_has_a_switch_is_off() -> None:
    assert NO_DEFENCES.off == DEFENCE_NAMES


@pytest.mark.parametrize("call_seconds", [1e-5, 1e-3])
def test_the_work_is_fixed_whatever_a_call_takes(call_seconds: float) -> None:
    traits = LaneTraits(batch_seconds=0.01, turn_seconds=0.001, resolution=1e-6, warm_launches=8)
    seconds = defences._AMPLE.per_row(5, 1)
    plan = plan_row(seconds, call_seconds, traits, fixed_rules(8, 19))
    assert (plan.generations, plan.ab_blocks, plan.aa_blocks, plan.looks) == (8, 12, 7, (8,))
    least = plan_row(seconds, call_seconds, traits, fixed_rules(2, 3))
    assert (least.generations, least.ab_blocks, least.aa_blocks, least.looks) == (2, 2, 1, (2,))


def test_by_default_it_is_the_work_until_the_first_look_of_the_default_rules() -> None:
    assert defences.FIRST_LOOK == look_schedule(DEFAULT_RULES, DEFAULT_RULES.generations)[0] == 8
    default = fixed_rules(defences.FIRST_LOOK, defences.DEFAULT_BLOCKS)
    assert (default.ab_blocks, default.aa_blocks) == (12, 7)


class Judged:
    """In the place of a judgement: seconds by the way it was judged, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: list[float]) -> None:
        self.seconds = seconds
        self.order: list[str] = []
        self.readings: list[int] = []
        monkeypatch.setattr(defences, "once", self._once)

    def _once(self, task: str, rules: Rules, given: Defences) -> dict[str, Any]:
        way = "on" if given == ALL_DEFENCES else "off"
        self.order.append(way)
        readings = self.readings.pop(0) if self.readings else 48
        return {"wall_seconds": self.seconds[way].pop(0), "readings": readings}


def test_the_order_changes_and_medians_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Judged(monkeypatch, on=[12.0, 60.0, 13.0], off=[10.0, 10.0, 11.0])
    body = compared(TASK, 3, fixed_rules(4, 3))
    assert judged.order == ["on", "off", "off", "on", "on", "off"]
    assert (body["on_seconds"], body["off_seconds"], body["ratio"]) == (13.0, 10.0, 1.3)
    assert (body["readings"], body["generations"], body["blocks"]) == (48, 4, 3)
    assert body["off"] == list(DEFENCE_NAMES)


def test_unequal_work_is_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Judged(monkeypatch, on=[12.0], off=[10.0])
    judged.readings = [48, 44]
    with pytest.raises(EvidenceError, match=r"cpu/rms_norm: unequal work: \[44, 48\] readings"):
        compared(TASK, 1, fixed_rules(4, 3))


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that holds another benchmark."""
    monkeypatch.setattr(defences, "EVIDENCE", tmp_path)
    monkeypatch.setattr(record, "EVIDENCE", tmp_path)
    record.record({"name": "other"})


def test_a_task_on_record_is_not_run_again(
    evidence: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = Judged(monkeypatch, on=[12.0, 14.0], off=[10.0, 10.0])
    asked = ["--task", TASK, "--rounds", "1", "--blocks", "3"]
    assert main(asked) == 0
    assert main(asked) == 0
    assert judged.order == ["on", "off"]
    # Other work is other work; and what is above the bar is a no.
    assert main([*asked, "--generations", "5"]) == 1
    assert judged.order == ["on", "off", "on", "off"]
    assert "cpu/rms_norm: 1.400 of 10.0 s, bar 1.3" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(
    evidence: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(defences, "once", interrupted)
    assert main(["--task", TASK]) == 130
    said = capsys.readouterr().out
    assert said == "interrupted with 0 tasks on record; the same command goes on\n"


@pytest.mark.long
def test_both_ways_take_the_same_readings_and_only_one_checks() -> None:
    rules = fixed_rules(2, 3)
    on, off = (defences.once(TASK, rules, way) for way in (ALL_DEFENCES, NO_DEFENCES))
    assert on["readings"] == off["readings"] > 0
    assert on["checked_calls"] > 0
    assert off["checked_calls"] == 0
