"""The numbers in a bundle: each row judged again from its samples, then all rows together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.judge.bundle import ROW_LINES
from assay.judge.bundle import VERDICT_LINE
from assay.judge.bundle_sources import Sources
from assay.judge.evidence import UNJUDGEABLE
from assay.judge.evidence import recheck
from assay.judge.evidence import record_of
from assay.judge.referee import conclude
from assay.judge.sitting import RowRecord
from assay.ledger import Row
from assay.ledger import Samples
from assay.spec.errors import quote
from assay.spec.lane import Lane
from assay.spec.rules import Rules
from assay.spec.verdict import TaskVerdict
from assay.stats.looks import look_schedule
from assay.stats.task_rule import judge_task

# A full row of the default rules draws 500 x 24 x 12 blocks at each of three looks. A hundred
# times that is not a measurement but a file made to exhaust its reader.
_MOST_DRAWN = 100 * 500 * 24 * 12
_MOST_GENERATIONS = 10_000
_MOST_LOOKS = 50
# The last digits of exp and quantiles differ between libm versions.
_TOLERANCE = 1e-9
_TWIN = "twin_us"  # readings of the twin are not among the samples


@dataclass(frozen=True)
class Evidence:
    """One measured row and its samples, both read from the bundle."""

    row: Row
    samples: Samples


def number_problems(
    claim: TaskVerdict, evidence: Sequence[Evidence], sources: Sources, rules: Rules
) -> list[str]:
    """Everything that rows and verdict state and samples do not give."""
    if not evidence:
        return list(_unmeasured_problems(claim, rules))
    if too_much := _too_much(evidence, rules):
        return [f"{ROW_LINES}: {too_much}"]
    problems = [
        f"{ROW_LINES}:{number}: {quote(problem)}"
        for number, item in enumerate(evidence, start=1)
        for problem in _row_problems(item, claim.task, rules)
    ]
    if not problems:
        problems += [f"{ROW_LINES}: {problem}" for problem in _coverage_problems(evidence, sources)]
    if not problems:
        problems += _verdict_problems(claim, evidence, sources, rules)
    return problems


def _too_much(evidence: Sequence[Evidence], rules: Rules) -> str | None:
    """The bootstrap draws generations times blocks; both are the bundle's to choose."""
    counts = [Counter(item.samples.columns.get("generation", ())) for item in evidence]
    generations = max(map(len, counts))
    blocks = max(max(count.values(), default=0) for count in counts) // 4
    if rules.resamples * generations * blocks > _MOST_DRAWN:
        return "more samples than a judge takes"
    return None


def _row_problems(item: Evidence, task: str, rules: Rules) -> Iterator[str]:
    body = item.row.body
    if body.get("task") != task:
        yield f"a row of task {body.get('task')}"
    if body.get("rules") != rules.content():
        yield "judged by other rules than the bundle's"
    elif (problem := _plan_problem(body.get("plan"), rules)) is not None:
        yield problem
    elif (problem := recheck(item.row, item.samples)) is not None:
        yield f"row {body.get('row')}: {problem}"
    else:
        yield from _stated_otherwise(item)


def _stated_otherwise(item: Evidence) -> Iterator[str]:
    """What recheck leaves: floor, echo, counts, reason; the task's own rule rests on them."""
    body = item.row.body
    try:
        found = record_of(item.row, item.samples).verdict().content()
    except UNJUDGEABLE as error:
        yield f"cannot be judged again: {error}"
        return
    stated = {key: body.get(key) for key in found}
    yield from differences({**stated, _TWIN: None}, found, f"row {body.get('row')}")


def _plan_problem(plan: Any, rules: Rules) -> str | None:
    """A schedule of looks that the rules do not give would spend alpha that they do not have."""
    generations = plan.get("generations") if isinstance(plan, dict) else None
    if not isinstance(generations, int) or not 0 < generations <= _MOST_GENERATIONS:
        return f"a plan of {generations} generations"
    if rules.looks > _MOST_LOOKS:
        return f"{rules.looks} looks are more than {_MOST_LOOKS}"
    if plan.get("looks") != list(look_schedule(rules, generations)):
        return f"looks after {plan.get('looks')}, which its rules do not allow"
    return None


def _coverage_problems(evidence: Sequence[Evidence], sources: Sources) -> Iterator[str]:
    """Every row of the task is measured once a lane: none is left out, none is added."""
    wanted = {row.id for row in sources.workloads.rows}
    seen = Counter((item.row.body.get("row"), item.row.body.get("lane")) for item in evidence)
    for (row, lane), times in seen.items():
        if row not in wanted:
            yield f"row {quote(row)} is none of the task's"
        if times > 1:
            yield f"row {quote(row)} is there {times} times in lane {quote(lane)}"
    for row in sorted(wanted - {row for row, lane in seen if lane == Lane.THROUGHPUT}):
        yield f"row {row} of the task was not measured"


def _verdict_problems(
    claim: TaskVerdict, evidence: Sequence[Evidence], sources: Sources, rules: Rules
) -> list[str]:
    calls = {row.id: row.calls for row in sources.workloads.rows}
    try:
        records: list[RowRecord] = [record_of(item.row, item.samples) for item in evidence]
        concluded = conclude(claim.task, records, rules, calls, claim.labels)
        found = _with_looks(concluded, claim).content()
    except UNJUDGEABLE as error:
        return [f"{VERDICT_LINE}: cannot be judged again: {quote(error)}"]
    for verdict, item in zip(found["rows"], evidence, strict=True):
        verdict[_TWIN] = item.row.body.get(_TWIN)
    return [f"{VERDICT_LINE}: {line}" for line in differences(claim.content(), found, "verdict")]


def _unmeasured_problems(claim: TaskVerdict, rules: Rules) -> Iterator[str]:
    """A verdict without samples is one on a candidate that never reached the clock."""
    measured = [row.row for row in claim.rows if row.measurement is not None or row.ratio]
    if measured:
        yield f"{VERDICT_LINE}: row {measured[0]} states a time, and there are no samples"
        return
    judged = judge_task(claim.task, claim.rows, {}, rules, {}, claim.labels)
    found = _with_looks(judged, claim)
    for line in differences(claim.content(), found.content(), "verdict"):
        yield f"{VERDICT_LINE}: {line}"


def _with_looks(found: TaskVerdict, claim: TaskVerdict) -> TaskVerdict:
    """What was seen of the candidate is in no samples, and is no part of the verdict."""
    return found.model_copy(
        update={
            "attention": claim.attention,
            "account": claim.account,
            "ablation": claim.ablation,
            "authenticity": claim.authenticity,
        }
    )


def differences(stated: Any, found: Any, where: str) -> Iterator[str]:
    """Where two JSON values differ by more than a library's last digits.

    >>> list(differences({"a": [1.0, 2]}, {"a": [1.0, 3]}, "x"))
    ['x.a.1 is 2, samples give 3']
    """
    if isinstance(stated, Mapping) and isinstance(found, Mapping) and stated.keys() == found.keys():
        for key, part in found.items():
            yield from differences(stated[key], part, f"{where}.{key}")
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for index, part in enumerate(found):
            yield from differences(stated[index], part, f"{where}.{index}")
    elif not _equal(stated, found):
        yield f"{where} is {quote(stated)}, samples give {quote(found)}"


def _equal(stated: Any, found: Any) -> bool:
    if isinstance(stated, float) and isinstance(found, float):
        return math.isclose(stated, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return type(stated) is type(found) and bool(stated == found)
