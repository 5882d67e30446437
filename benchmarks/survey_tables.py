"""The tables of docs/results/h200-baselines.md: every baseline of the diffusion tasks on every row.

They come from the newest survey of each row that `evidence/ledger` has for the H200.
`ASSAY_HOME=evidence assay survey diffusion/NAME --lane latency` puts them there.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from functools import partial
from typing import Any

from assay.ledger import Ledger
from assay.ledger import Row
from assay.stats.geomean import geomean
from assay.task.surveying import SURVEY
from benchmarks.markdown import markdown
from benchmarks.record import EVIDENCE

NOTHING = "No survey of this task is on record yet.\n"
DEVICE = "H200"
SUITE = "diffusion"
TASKS = (
    "qknorm_rope",
    "norm_infer",
    "rotary_embedding",
    "norm_tanh_mul_add",
    "norm_scale_shift",
    "fuse_scale_shift",
    "group_norm_silu",
)
HEADS = [
    "row",
    "MB moved",
    "SGLang µs",
    "over the twin",
    "latency µs",
    "eager / SGLang",
    "compiled / SGLang",
    "twin µs",
    "ledger id",
]


def survey_tables() -> dict[str, Callable[[], str]]:
    """By the name of its place in the document."""
    return {f"survey-{name.replace('_', '-')}": partial(survey_table, name) for name in TASKS}


def survey_table(name: str) -> str:
    rows = _newest(f"{SUITE}/{name}")
    if not rows:
        return NOTHING
    lines = [_line(row) for row in rows]
    return f"{markdown(HEADS, lines)}\n{_summary(rows)}\n"


def _newest(task: str) -> list[Row]:
    """The newest row of each row of the task, in the order of their ids, for its newest form."""
    found: dict[str, Row] = {}
    surveys = [
        row
        for row in Ledger(EVIDENCE).rows(SURVEY)
        if row.body["task"] == task and DEVICE in row.body["device"]
    ]
    if not surveys:
        return []
    form = max(surveys, key=lambda row: row.time).body["task_hash"]
    for row in sorted(surveys, key=lambda row: row.time):
        if row.body["task_hash"] == form:
            found[row.body["row"]] = row
    return [found[key] for key in sorted(found)]


def _us(body: Mapping[str, Any], name: str, lane: str = "throughput") -> float | None:
    found = body["timings"].get(name, {}).get(lane)
    return None if found is None else float(found["us"])


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None


def _line(row: Row) -> list[str]:
    body = row.body
    sglang, twin = _us(body, "sglang"), _us(body, "twin")
    moved = (body["bytes_read"] + body["bytes_written"]) / 1e6
    return [
        f"`{body['row']}`",
        f"{moved:.1f}",
        _cell(sglang, body, "sglang"),
        _number(_over(sglang, twin)),
        _number(_us(body, "sglang", "latency")),
        _cell(_over(_us(body, "eager"), sglang), body, "eager"),
        _cell(_over(_us(body, "compiled"), sglang), body, "compiled"),
        _number(twin),
        f"`{row.id}`",
    ]


def _cell(value: float | None, body: Mapping[str, Any], name: str) -> str:
    return _number(value) if value is not None or name not in body["failures"] else "failed"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summary(rows: Iterable[Row]) -> str:
    bodies = [row.body for row in rows]
    packages = sorted({body["packages"].get("sglang", "") for body in bodies} - {""})
    eager = _geomean(_over(_us(b, "eager"), _us(b, "sglang")) for b in bodies)
    compiled = _geomean(_over(_us(b, "compiled"), _us(b, "sglang")) for b in bodies)
    twin = _geomean(_over(_us(b, "sglang"), _us(b, "twin")) for b in bodies)
    return (
        f"{len(bodies)} rows, {', '.join(packages) or 'no package'} on an {DEVICE}. Geometric "
        f"means: SGLang takes {twin} times the copy twin, eager {eager} and compiled {compiled} "
        "times SGLang, throughput lane."
    )


def _geomean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value]
    return f"{geomean(known):.2f}" if known else "-"
