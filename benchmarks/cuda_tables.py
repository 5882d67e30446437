"""The tables of docs/measurement.md, from what `benchmarks.cuda` put on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.record import newest


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cuda_table() -> str:
    """One line for each thing that was tried, with the row of the ledger that holds it."""
    shown = []
    for name, what, told in _LINES:
        row = newest(name)
        shown.append([what, told(row.body), f"`{row.id}`"])
    return _table(["NVIDIA H200", "figure", "ledger id"], shown)


def twins_table() -> str:
    row = newest("cuda-twins")
    shares: dict[str, dict[str, float]] = row.body["shares"]
    names = list(dict.fromkeys(key.partition("_")[0] for key in shares))
    shown = []
    for name in names:
        cells = [f"{shares[f'{name}_{lane}']['share']:.0%}" for lane in ("throughput", "device")]
        gap = shares[f"{name}_throughput"]["us"] - shares[f"{name}_device"]["us"]
        shown.append([f"{name.removeprefix('mb')} MB", *cells, f"{gap:.1f} µs"])
    rate = row.body["copy_bytes_per_second"] / 1e12
    heads = ["moved", "throughput lane", "device lane", "between two calls"]
    note = f"\nOf a large copy's {rate:.2f} TB/s in the same sitting. Ledger id `{row.id}`.\n"
    return _table(heads, shown) + note


def _overhead(body: dict[str, Any]) -> str:
    empty = body["device"]["empty_ns"]["throughput"] / 1000
    extra = [f"{value['median_us'] - empty:+.1f}" for value in body["extra"].values()]
    return f"{' and '.join(extra)} µs on a 66 MB and a 1 MB copy ({empty:.1f} µs are subtracted)"


def _flush(body: dict[str, Any]) -> str:
    plain, held = body["plain"], body["persisting"]
    return (
        f"{plain['hot_us']:.1f} µs hot, {plain['flushed_us']:.1f} after the flush; "
        f"with a persisting window {held['hot_us']:.1f} and {held['flushed_us']:.1f}"
    )


def _spoiling(body: dict[str, Any]) -> str:
    rows = [body[name] for name in ("mb66", "mb332")]
    return " and ".join(f"{r['with_ms'] / r['without_ms'] - 1:+.2%}" for r in rows) + " of a batch"


def _slower(body: dict[str, Any]) -> str:
    low, high = body["interval"]
    return f"{body['verdict'].upper()}, {body['geomean']:.4f} ({low:.4f}-{high:.4f})"


def _itself(body: dict[str, Any]) -> str:
    group = body["groups"]["device_bound_throughput"]
    return (
        f"geomean {group['geomean']:.5f}, worst row off by {group['worst']:.2%}, "
        f"{group['hold_one']} of {group['rows']} intervals hold 1"
    )


def _small(body: dict[str, Any]) -> str:
    (group,) = (group for name, group in body["groups"].items() if name.startswith("host_bound"))
    return (
        f"geomean {group['geomean']:.4f}, {group['hold_one']} of {group['rows']} intervals hold 1, "
        f"{group['unclear']} UNCLEAR, {group['told_apart']} told apart; "
        f"{body['row_seconds']:.0f} s of device time a row"
    )


def _early(body: dict[str, Any]) -> str:
    return _outcomes(body, "throughput")


def _early_single(body: dict[str, Any]) -> str:
    return _outcomes(body, "latency")


def _outcomes(body: dict[str, Any], lane: str) -> str:
    found = []
    for name, outcome in body["outcome"].items():
        hidden, _, of = name.partition("us_")
        if of == lane:
            ratio = "" if outcome["geomean"] is None else f" {outcome['geomean']:.3f}"
            found.append(f"{hidden}: {outcome['verdict'].upper()}{ratio}")
    return ", ".join(found)


def _read_back(body: dict[str, Any]) -> str:
    said = (
        f"{body['copy_busy_us']:.0f} µs by the copy engine, "
        f"{body['kernel_busy_us']:.0f} by a kernel; idle {body['copy_idle_us']:.0f} "
        f"and {body['kernel_idle_us']:.0f}"
    )
    if "column_busy_us" in body:
        said += (
            f"; a column of 256 slots in {body['column_busy_us']:.0f} µs, "
            f"64 bytes written in {body['write_busy_us']:.0f}"
        )
    return said


def _cost(body: dict[str, Any]) -> str:
    share = body["timed_seconds"] / body["wall_seconds"]
    return f"{body['wall_seconds']:.0f} s, {share:.1%} of it inside timed batches"


def _left_out(body: dict[str, Any]) -> str:
    return f"{body['verdict'].upper()}: {body['rows'][0]['reason']}"


_LINES: list[tuple[str, str, Callable[[dict[str, Any]], str]]] = [
    ("cuda-overhead", "referee's clock less the runner's own, a batch of 128 calls", _overhead),
    ("cuda-flush", "a sweep over 8 MB", _flush),
    (
        "cuda-spoiling",
        "outputs spoilt and seen to be mended, inputs changed, all through a batch",
        _spoiling,
    ),
    ("cuda-left-out", "a solution that leaves out every third known call", _left_out),
    ("cuda-slower", "a copy with a delay tuned to 2 %", _slower),
    ("cuda-against-itself", "A/A, five rows of 200 MB and more", _itself),
    ("cuda-small-against-itself", "A/A, five rows of 2 MB and less, throughput lane", _small),
    ("cuda-small-latency", "the same in the latency lane", _small),
    ("cuda-early-ring", "a runner that rings 20, 50, 100, 200, 500 µs early, throughput", _early),
    ("cuda-early-ring", "the same in the latency lane, where a call lasts 83 µs", _early_single),
    ("cuda-read-back", "the referee reads 256 bytes in the middle of a runner's batch", _read_back),
    ("cuda-against-itself", "cost of that verdict: ten rows, two sides", _cost),
]
