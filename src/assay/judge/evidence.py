"""Verdicts into the ledger, and out of it again without believing them."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.judge.referee import Judgement
from assay.judge.sitting import RowRecord
from assay.ledger import Row
from assay.ledger import Samples
from assay.ledger import Writer
from assay.spec.documents import parse_document
from assay.spec.environment import Provenance
from assay.spec.errors import DocumentError
from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.sample import from_columns
from assay.spec.sample import to_columns
from assay.stats.plan import Plan
from assay.stats.row_rule import Finding
from assay.stats.row_rule import replay

ROW_VERDICT = "row-verdict"
TASK_VERDICT = "task-verdict"

# What the rules raise on columns, plans and samples that no referee writes.
UNJUDGEABLE = (
    DocumentError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
)


def store_row(writer: Writer, task: str, record: RowRecord, rules: Rules) -> Row:
    """One measured row with its samples, rules and plan: all that a reader needs to redo it."""
    body = {
        "task": task,
        **record.verdict().content(),
        "rules": rules.content(),
        "plan": record.plan.content(),
    }
    return writer.append(ROW_VERDICT, body, Samples(columns=to_columns(record.samples)))


def store(writer: Writer, judgement: Judgement, provenance: Provenance, rules: Rules) -> Row:
    """The verdict on all rows, with its provenance and the hashes of the rows it rests on."""
    verdict = judgement.verdict
    rows = [store_row(writer, verdict.task, record, rules) for record in judgement.records]
    body = {
        **verdict.content(),
        "provenance": provenance.content(),
        "builds": {
            side: {
                "compiler": Path(made.compiler).name,
                "flags": list(made.flags),
                "resources": {name: asdict(used) for name, used in made.resources.items()},
                "sandbox": dict(made.held),
            }
            for side, made in judgement.builds.items()
        },
        "prepare_us": dict(judgement.prepare_us),
        "checked_calls": judgement.checked_calls,
        "seconds": {name: round(value, 3) for name, value in judgement.seconds.items()},
        "device": dict(judgement.device),
        "sandbox": dict(judgement.sandbox),
        "evidence": [row.hash for row in rows],
    }
    return writer.append(TASK_VERDICT, body)


def recheck(row: Row, samples: Samples) -> str | None:
    """What a row's samples contradict in its verdict, or None when they agree."""
    if row.kind != ROW_VERDICT:
        return None
    try:
        finding = _replayed(row, samples)
    except UNJUDGEABLE as error:
        return f"its samples cannot be judged again: {error}"
    claimed, found = row.body.get("status"), finding.status.value
    if claimed != found:
        return f"verdict says {claimed}, samples give {found}"
    return _different_numbers(row.body, finding)


def record_of(row: Row, samples: Samples) -> RowRecord:
    """A stored row as its sitting had it, judged again; raises one of UNJUDGEABLE.

    Readings of the twin are not among the samples.
    """
    # Rows from before there was such a rule were judged without it.
    rules = parse_document({"equivalence": 0.0, **row.body["rules"]}, Rules, "rules")
    plan = Plan(**{**row.body["plan"], "looks": tuple(row.body["plan"]["looks"])})
    taken = from_columns(samples.columns)
    finding = replay(taken, rules, plan)
    return RowRecord(row.body["row"], Lane(row.body["lane"]), plan, list(taken), finding)


def _replayed(row: Row, samples: Samples) -> Finding:
    finding = record_of(row, samples).finding
    assert finding is not None
    return finding


def _different_numbers(body: dict[str, Any], finding: Finding) -> str | None:
    if finding.measurement is None:
        return None if body.get("ratio") is None else "a ratio that no samples give"
    measured = finding.measurement
    claims: dict[str, tuple[Any, float]] = {
        "ratio": (body.get("ratio"), measured.ratio),
        "baseline_us": (body.get("baseline_us"), measured.baseline_us),
        "candidate_us": (body.get("candidate_us"), measured.candidate_us),
    }
    for end, index in (("low", 0), ("high", 1)):
        interval = body.get("interval") or (None, None)
        claims[f"interval's {end} end"] = (interval[index], measured.interval[index])
    for name, (claimed, found) in claims.items():
        # The last digits of exp and quantiles differ between libm versions.
        agrees = isinstance(claimed, int | float) and math.isclose(claimed, found, rel_tol=1e-9)
        if not agrees:
            return f"{name} is {claimed}, samples give {found:.9g}"
    return None
