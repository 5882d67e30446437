"""The baseline against itself, and against one that is a little slower."""

from __future__ import annotations

import math
import statistics
import time
from contextlib import ExitStack
from typing import Any

import torch

from assay.device.cuda import CudaDevice
from assay.device.cuda.probes import event_microseconds
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.referee import Referee
from assay.judge.sitting import RowRecord
from assay.judge.twin import bytes_moved
from assay.spec.lane import Lane
from assay.spec.rules import Budget
from assay.spec.workload import Row
from assay.task import load_task
from assay.task.load import load_baseline
from benchmarks.cuda.cases import copy_case
from benchmarks.cuda.cases import copy_rows
from benchmarks.cuda.cases import program_of
from benchmarks.cuda.cases import show
from benchmarks.cuda.cases import source_of
from benchmarks.cuda.cases import told

RMS = "cuda/rms_norm"


DEVICE_BOUND_BYTES = 200e6


HOST_BOUND_BYTES = 2e6


def moved(task: str) -> dict[str, int]:
    folder = load_task(task)
    found = {}
    for row in folder.workloads.rows:
        function = folder.task.function(row.function)
        assert function is not None
        found[row.id] = sum(bytes_moved(function, row))
    return found


def against_itself(seconds: float, lanes: tuple[Lane, ...] = (Lane.THROUGHPUT,)) -> dict[str, Any]:
    """The baseline against itself on all ten rows: what is left is noise, and what it costs."""
    folder = load_task(RMS)
    return _itself(folder.workloads.rows, Budget(task_seconds=seconds), lanes)


def small_against_itself(seconds: float) -> dict[str, Any]:
    """The same on the host-bound rows alone, with so much time for each."""
    return _small(Budget(row_seconds=seconds), Lane.THROUGHPUT)


def small_latency(seconds: float) -> dict[str, Any]:
    """And in the latency lane."""
    return _small(Budget(row_seconds=seconds), Lane.LATENCY)


def _small(budget: Budget, lane: Lane) -> dict[str, Any]:
    sizes = moved(RMS)
    rows = load_task(RMS).workloads.rows
    few = tuple(row for row in rows if sizes[row.id] <= HOST_BOUND_BYTES)
    return {"row_seconds": budget.row_seconds, **_itself(few, budget, (lane,))}


def _itself(rows: tuple[Row, ...], budget: Budget, lanes: tuple[Lane, ...]) -> dict[str, Any]:
    folder = load_task(RMS)
    loaded = load_baseline(folder)
    side = Contender(loaded.sealed, loaded.sources)
    case = Case(folder.task, folder.content_hash, rows, folder.reference, side, side)
    begun = time.monotonic()
    referee = Referee(case, budget=budget, lanes=lanes)
    judgement = referee.judge()
    wall = time.monotonic() - begun
    inside = sum(s.nanoseconds for record in judgement.records for s in record.samples) / 1e9
    inside += sum(n for record in judgement.records for n in record.twin_nanoseconds) / 1e9
    found = told(judgement)
    show(found)
    print(f"  {wall:.1f} s, {inside / wall:.0%} inside timed batches", flush=True)
    print({name: round(value, 1) for name, value in judgement.seconds.items()}, flush=True)
    sizes = moved(RMS)
    kinds = {
        "device_bound": {row for row, size in sizes.items() if size >= DEVICE_BOUND_BYTES},
        "host_bound": {row for row, size in sizes.items() if size <= HOST_BOUND_BYTES},
    }
    groups = {
        f"{kind}_{lane}": _group(
            [row for row in found["rows"] if row["lane"] == lane and row["row"] in members]
        )
        for kind, members in kinds.items()
        for lane in lanes
    }
    print(groups, flush=True)
    spread = {f"{r.row}_{r.lane}": _spread(r) for r in judgement.records}
    return {
        **found,
        "groups": groups,
        "spread": spread,
        "wall_seconds": wall,
        "phase_seconds": dict(judgement.seconds),
        "timed_seconds": inside,
        "device": dict(judgement.device),
    }


def _spread(record: RowRecord) -> dict[str, list[list[float]]]:
    """By process, in order: the microseconds of a call, and how slow the host was around the batch;
    readings that were taken again among them."""
    by: dict[str, list[list[float]]] = {}
    for sample, paces in zip(record.samples, record.paces, strict=True):
        call = sample.nanoseconds / sample.launches / 1000
        figures = [call, *paces]
        key = f"{sample.generation}_{sample.side}"
        by.setdefault(key, []).append([round(figure, 2) for figure in figures])
    return by


def _group(rows: list[dict[str, Any]]) -> dict[str, Any]:
    logs = [math.log(row["ratio"]) for row in rows if row["ratio"]]
    return {
        "rows": len(rows),
        "geomean": math.exp(statistics.fmean(logs)) if logs else None,
        "worst": max((abs(math.expm1(x)) for x in logs), default=None),
        "unclear": sum(row["status"] == "unclear" for row in rows),
        "told_apart": sum(row["status"] in {"faster", "slower"} for row in rows),
        "hold_one": sum(
            1 for row in rows if row["interval"] and row["interval"][0] <= 1 <= row["interval"][1]
        ),
    }


def series(_: float) -> dict[str, Any]:
    """A host-bound row in one process, batch after batch, with one and with five processes alive:
    what varies, and whether the pace of the core varies with it."""
    folder = load_task(RMS)
    row = next(row for row in folder.workloads.rows if row.id == "m1320_d128_bf16")
    loaded = load_baseline(folder)
    side = Contender(loaded.sealed, loaded.sources)
    case = Case(folder.task, folder.content_hash, (row,), folder.reference, side, side)
    found: dict[str, Any] = {}
    with CudaDevice() as device, device.referee_core(), ExitStack() as stack:
        device.rows = {row.id: source_of(case, row, device)}
        program = program_of(case.task, side)
        first = stack.enter_context(device.start(program))
        for alive in (1, 5):
            others = [stack.enter_context(device.start(program)) for _ in range(alive - 1)]
            for other in others:
                other.time(row.id, Lane.THROUGHPUT, 100, 64)
            readings = [first.time(row.id, Lane.THROUGHPUT, 1000, 64) for _ in range(40)]
            found[f"alive_{alive}"] = [
                [round(r.nanoseconds / 1e6, 2), *(round(p, 2) for p in r.paces)] for r in readings
            ]
            print(alive, found[f"alive_{alive}"], flush=True)
    return found


DELAYED = """
import torch
CYCLES = {cycles}
def copy(x, y):
    y.copy_(x)
    torch.cuda._sleep(CYCLES.get(x.numel(), 1))
"""


def slower(seconds: float) -> dict[str, Any]:
    """A copy with a delay after it that was tuned to two percent of the copy's own time."""
    sizes = (240.0, 400.0)
    cycles, shares = {}, {}
    for row in copy_rows(sizes):
        spec = row.tensors["x"]
        assert spec is not None
        x = torch.randn(spec.shape, device="cuda")
        y = torch.empty_like(x)
        plain = _pair_us(x, y, 0)
        low, high = 1, 200_000
        while high - low > 50:
            middle = (low + high) // 2
            low, high = (middle, high) if _pair_us(x, y, middle) < 1.02 * plain else (low, middle)
        cycles[x.numel()] = low
        shares[row.id] = _pair_us(x, y, low) / plain
        del x, y
    torch.cuda.empty_cache()
    case = copy_case(DELAYED.format(cycles=cycles), sizes)
    found = told(Referee(case, budget=Budget(task_seconds=seconds)).judge())
    show(found)
    return {**found, "tuned_share": shares}


def _pair_us(x: torch.Tensor, y: torch.Tensor, cycles: int) -> float:
    def call() -> None:
        y.copy_(x)
        if cycles:
            torch.cuda._sleep(cycles)

    call()
    return statistics.median(event_microseconds(call, repeats=50) for _ in range(5))
