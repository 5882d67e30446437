from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from assay.device.environment import environment
from assay.device.fake import FakeDevice
from assay.device.fake import Script
from assay.judge.evidence import recheck
from assay.judge.evidence import store_row
from assay.judge.sitting import RowRecord
from assay.judge.sitting import Sitting
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import verify
from assay.spec.lane import Lane
from assay.spec.rules import DEFAULT_BUDGET
from assay.spec.rules import Rules
from assay.stats.row_rule import look_at
from tests.noise import SimulatedNoise
from tests.stats.samples import plan_of
from tests.stats.samples import row_samples

RULES = Rules()


def measured(gain: float = 0.03, seed: int = 1) -> RowRecord:
    device = FakeDevice(SimulatedNoise(seed))
    sitting = Sitting(
        device,
        Script({"row": 1e-4}),
        Script({"row": 1e-4 / (1 + gain)}),
        RULES,
        order=random.Random(seed),
    )
    return sitting.run(["row"], [Lane.THROUGHPUT], DEFAULT_BUDGET)[0]


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Ledger, Row]:
    ledger = Ledger(tmp_path / "ledger")
    with ledger.writer(environment()) as writer:
        row = store_row(writer, "fake/x", measured(), RULES)
    return ledger, row


def test_a_stored_verdict_is_computed_again_from_its_samples(stored: tuple[Ledger, Row]) -> None:
    ledger, row = stored
    assert recheck(row, ledger.samples(row)) is None
    report = verify(ledger, recompute=recheck)
    assert (report.ok, report.recomputed) == (True, 1)


def test_the_body_has_the_promised_keys_and_the_whole_recipe(stored: tuple[Ledger, Row]) -> None:
    _, row = stored
    assert row.body["task"] == "fake/x"
    assert row.body["status"] == "faster"
    assert row.body["ratio"] == pytest.approx(1.03, abs=0.01)
    assert row.body["rules"] == RULES.content()
    assert row.body["plan"]["looks"] == [8, 16, 24]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("status", "same", "verdict says same, samples give faster"),
        ("ratio", 1.5, "ratio is 1.5, samples give"),
        ("interval", [1.02, 9.0], "interval's low end is 1.02, samples give"),
        ("candidate_us", 1.0, "candidate_us is 1.0, samples give"),
        ("ratio", None, "ratio is None, samples give"),
        ("ratio", "1.03", "ratio is 1.03, samples give"),
        ("rules", {"schema": "assay.rules.1", "alpha": 2}, "cannot be judged again: rules: key"),
        ("plan", {}, "cannot be judged again"),
        ("plan", None, "cannot be judged again"),
    ],
)
def test_a_verdict_that_its_samples_do_not_give_is_found(
    stored: tuple[Ledger, Row], key: str, value: Any, said: str
) -> None:
    ledger, row = stored
    forged = row.model_copy(update={"body": {**row.body, key: value}})
    problem = recheck(forged, ledger.samples(row))
    assert problem is not None
    assert said in problem


def test_a_row_from_before_a_rule_is_judged_without_it(tmp_path: Path) -> None:
    samples = row_samples([1.02, 0.98, 1.015, 0.985, 1.01, 0.99, 1.0, 1.0] * 3)
    before = Rules(equivalence=0.0)
    found = look_at(samples, before, plan_of(24), 0)
    record = RowRecord("row", Lane.THROUGHPUT, plan_of(24), samples, found)
    ledger = Ledger(tmp_path / "ledger")
    with ledger.writer(environment()) as writer:
        row = store_row(writer, "fake/x", record, before)
    rules = {name: value for name, value in row.body["rules"].items() if name != "equivalence"}
    old = row.model_copy(update={"body": {**row.body, "rules": rules}})
    assert recheck(old, ledger.samples(row)) is None
    new = row.model_copy(update={"body": {**row.body, "rules": RULES.content()}})
    problem = "verdict says unclear, samples give same"
    assert recheck(new, ledger.samples(row)) == problem


def test_a_forged_row_with_a_sound_chain_is_found_by_verify(tmp_path: Path) -> None:
    # The forger writes with our own writer: the chain is perfect, the claim is not.
    ledger = Ledger(tmp_path / "ledger")
    record = measured(gain=0.0)
    with ledger.writer(environment()) as writer:
        honest = store_row(writer, "fake/x", record, RULES)
        lie = {**honest.body, "status": "faster", "ratio": 2.0}
        writer.append("row-verdict", lie, ledger.samples(honest))
    assert verify(ledger).ok
    report = verify(ledger, recompute=recheck)
    assert not report.ok
    assert len(report.problems) == 1


def test_the_samples_of_a_full_row_are_small(tmp_path: Path) -> None:
    record = measured(gain=0.007, seed=3)
    ledger = Ledger(tmp_path / "ledger")
    with ledger.writer(environment()) as writer:
        row = store_row(writer, "fake/x", record, RULES)
    assert row.samples is not None
    assert len(record.samples) > 1000
    assert row.samples.bytes <= 20_000


def test_rows_of_other_kinds_are_left_alone(stored: tuple[Ledger, Row]) -> None:
    ledger, row = stored
    other = row.model_copy(update={"kind": "benchmark", "body": {}})
    assert recheck(other, ledger.samples(row)) is None
