"""What the referee itself costs, and what a plain copy reaches."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

from assay.device.cuda import CudaDevice
from assay.device.runners.batch import Gate
from assay.device.runners.spoiler import Spoiler
from assay.device.runners.vigil import StreamVigil
from assay.judge.twin import twin_program
from assay.spec.defences import Defences
from assay.spec.lane import Lane
from benchmarks.cuda.cases import PLAIN
from benchmarks.cuda.cases import copy_case
from benchmarks.cuda.cases import program_of
from benchmarks.cuda.cases import source_of


def overhead(_: float) -> dict[str, Any]:
    """The referee's clock against the runner's own, batch by batch."""
    case = copy_case(PLAIN, (66.0, 1.0))
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: source_of(case, row, device) for row in case.rows}
        program = program_of(case.task, case.baseline)
        twin = twin_program(case.task, device.target)
        with device.start(twin) as idle:
            device.calibrate(idle, case.rows[0].id)
        extra: dict[str, list[float]] = {}
        with device.start(program) as process:
            for row in case.rows:
                for _ in range(30):
                    process.time(row.id, Lane.EVENTS, 128, 64)
                extra[row.id] = [
                    (taken - int(str(said["host_nanoseconds"]))) / 1000
                    for taken, said in process.claims[5:]
                ]
                process.claims.clear()
        report = device.report()
    figures = {
        row: {
            "median_us": statistics.median(values),
            "p10_us": sorted(values)[len(values) // 10],
            "p90_us": sorted(values)[len(values) * 9 // 10],
        }
        for row, values in extra.items()
    }
    print(figures, report["empty_ns"], report["free_after_turn_us"], flush=True)
    return {"extra": figures, "device": report}


def twins(_: float) -> dict[str, Any]:
    """The copy twin's share of the large copy's bandwidth, by megabytes moved."""
    sizes = (20.0, 38.0, 52.0, 103.0, 151.0, 332.0)
    case = copy_case(PLAIN, sizes)
    shares: dict[str, Any] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: source_of(case, row, device) for row in case.rows}
        report = device.report()
        rate = report["rates"]["copy_bytes_per_second"]
        with device.start(twin_program(case.task, device.target)) as twin:
            device.calibrate(twin, case.rows[0].id)
            for row, size in zip(case.rows, sizes, strict=True):
                launches = math.ceil(0.060 / (size * 1e6 / rate))
                for lane, calls in (
                    (Lane.THROUGHPUT, launches),
                    (Lane.GRAPH, launches),
                    (Lane.DEVICE, 50),
                ):
                    times = [
                        twin.time(row.id, lane, calls, 64).nanoseconds / calls for _ in range(7)
                    ]
                    nanoseconds = statistics.median(times)
                    share = size * 1e6 / (nanoseconds * 1e-9) / rate
                    shares[f"{row.id}_{lane}"] = {"us": nanoseconds / 1000, "share": share}
                    print(row.id, lane.value, shares[f"{row.id}_{lane}"], flush=True)
    return {"copy_bytes_per_second": rate, "shares": shares, "device": report}


def spoiling(_: float) -> dict[str, Any]:
    """What it costs a batch that the referee spoils outputs and changes inputs all through it."""
    case = copy_case(PLAIN, (66.0, 332.0))
    found: dict[str, Any] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: source_of(case, row, device) for row in case.rows}
        with device.start(program_of(case.task, case.candidate)) as process:
            for row, launches in zip(case.rows, (3000, 600), strict=True):
                times: dict[str, list[float]] = {"with": [], "without": []}
                spoilt, touched = 0, 0
                for turn in range(24):
                    spoils = turn % 2 == 0
                    gates = Spoiler.gates if spoils else _no_gates
                    device.defences = Defences(content=spoils)  # without it nothing is touched
                    with mock.patch.object(Spoiler, "gates", gates):
                        taken = process.time(row.id, Lane.THROUGHPUT, launches, 64).nanoseconds
                    times["with" if spoils else "without"].append(taken / 1e6)
                    assert isinstance(process.vigil, StreamVigil)
                    spoilt += process.vigil.spoiler.count
                    touched += len(process.vigil.touches.slots)
                found[row.id] = {
                    "with_ms": statistics.median(times["with"][1:]),
                    "without_ms": statistics.median(times["without"][1:]),
                    "slots_spoilt": spoilt,
                    "slots_touched": touched,
                }
    print(found, flush=True)
    return found


def _no_gates(*_: object) -> dict[int, Gate]:
    return {}


def read_back(_: float) -> dict[str, Any]:
    """How long the referee takes to read and to write a few bytes: by the copy engine and by a
    kernel of its own, with the device idle and in the middle of a runner's batch."""
    case = copy_case(PLAIN, (332.0,))
    row = case.rows[0]
    found: dict[str, list[float]] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: source_of(case, row, device)}
        with device.start(program_of(case.task, case.candidate)) as process:

            def timed(name: str, work: Callable[[], object], times: int) -> None:
                for _ in range(times):
                    begun = time.perf_counter_ns()
                    work()
                    found.setdefault(name, []).append((time.perf_counter_ns() - begun) / 1000)

            def by_copy() -> object:
                return process.memory.read(4096, 256)

            def by_kernel() -> object:
                return process.memory.flat[4096:4352].add(1).cpu()

            def column() -> object:
                return process.memory.column(4096, 64, 1 << 20, 256)

            timed("copy_idle_us", by_copy, 30)

            def write() -> object:
                return process.memory.write(process.memory.size - 4096, bytes(64))

            timed("column_idle_us", column, 30)
            timed("write_idle_us", write, 30)
            timed("kernel_idle_us", by_kernel, 30)
            gates = {
                100: lambda: timed("copy_busy_us", by_copy, 10),
                200: lambda: timed("column_busy_us", column, 3),
                250: lambda: timed("write_busy_us", write, 10),
                300: lambda: timed("kernel_busy_us", by_kernel, 3),
            }
            with mock.patch.object(Spoiler, "gates", return_value=gates):
                for _ in range(8):
                    process.time(row.id, Lane.THROUGHPUT, 500, 16)
    medians = {name: statistics.median(values) for name, values in found.items()}
    print(medians, flush=True)
    return medians
