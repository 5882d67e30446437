"""What the judge does on a GPU, measured there and put on record.

`python -m benchmarks.cuda PART …` runs the named parts (all of them without a name) and appends a
row for each to `evidence/ledger`. Every part prints what it found, so a run that is cut off has
not been for nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
import struct
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import torch

from assay.device.cuda import CudaDevice
from assay.device.cuda.probes import event_microseconds
from assay.device.runners import Program
from assay.device.runners import RowSource
from assay.device.runners import RunnerProcess
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.inputs import make_inputs
from assay.judge.inputs import seeded
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.judge.sitting import RowRecord
from assay.judge.twin import bytes_moved
from assay.judge.twin import twin_program
from assay.spec.distribution import Distribution
from assay.spec.documents import parse_document
from assay.spec.lane import Lane
from assay.spec.noun import sha256_hex
from assay.spec.rules import Budget
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import Workloads
from assay.task import load_task
from assay.task.load import load_baseline
from benchmarks.record import record

RMS = "cuda/rms_norm"
DEVICE_BOUND_BYTES = 200e6
HOST_BOUND_BYTES = 2e6

COPY: dict[str, Any] = {
    "schema": "assay.task.1",
    "name": "probe/copy",
    "summary": "y = x",
    "device": "cuda",
    "functions": [
        {
            "name": "copy",
            "summary": "a copy",
            "arguments": [
                {"name": "x", "role": "input", "shape": ["n"], "dtypes": ["float32"]},
                {"name": "y", "role": "output", "shape": ["n"], "like": "x"},
            ],
        }
    ],
    "domain": {"axes": {"n": {"low": 1, "high": 2**30}}},
    "baselines": [{"kind": "local", "name": "plain", "primary": True, "path": "baselines/plain"}],
}
PLAIN = "def copy(x, y):\n    y.copy_(x)\n"


def copy_rows(megabytes: Iterable[float]) -> tuple[Row, ...]:
    """Rows that move so many megabytes in all, half of them read and half written."""
    rows = []
    for moved in megabytes:
        spec = {"shape": [int(moved * 1e6 / 8)], "dtype": "float32"}
        rows.append({"id": f"mb{moved:g}", "function": "copy", "tensors": {"x": spec, "y": spec}})
    return parse_document({"schema": "assay.workloads.1", "rows": rows}, Workloads, "rows").rows


def contender(source: str, name: str = "made") -> Contender:
    content = source.encode()
    document = {
        "schema": "assay.solution.1",
        "name": name,
        "language": "torch",
        "sources": ["kernel.py"],
        "entry": "kernel.py",
    }
    solution = parse_document(document, Solution, "solution.toml")
    file = SourceFile(path="kernel.py", sha256=sha256_hex(content), bytes=len(content))
    return Contender(SealedSolution(solution=solution, files=(file,)), {"kernel.py": content})


def copy_case(candidate: str, megabytes: Iterable[float], baseline: str = PLAIN) -> Case:
    return Case(
        task=parse_document(COPY, Task, "task.toml"),
        task_hash="0" * 64,
        rows=copy_rows(megabytes),
        reference="def copy(x):\n    return x.clone()\n",
        baseline=contender(baseline),
        candidate=contender(candidate),
    )


def told(judgement: Judgement) -> dict[str, Any]:
    verdict = judgement.verdict
    return {
        "verdict": verdict.verdict.value,
        "geomean": verdict.geomean,
        "interval": list(verdict.interval) if verdict.interval else None,
        "reason": verdict.reason,
        "labels": list(verdict.labels),
        "rows": [
            {
                "row": row.row,
                "lane": row.lane.value,
                "status": row.status.value,
                "ratio": row.ratio,
                "interval": list(row.interval) if row.interval else None,
                "floor": row.measurement.floor if row.measurement else None,
                "dropped": row.measurement.dropped_blocks if row.measurement else None,
                "baseline_us": row.baseline_us,
                "candidate_us": row.candidate_us,
                "twin_us": row.twin_us,
                "reason": row.reason,
                "violation": row.violation.value if row.violation else None,
            }
            for row in verdict.rows
        ],
    }


def moved(task: str) -> dict[str, int]:
    folder = load_task(task)
    found = {}
    for row in folder.workloads.rows:
        function = folder.task.function(row.function)
        assert function is not None
        found[row.id] = sum(bytes_moved(function, row))
    return found


def show(found: Mapping[str, Any]) -> None:
    for row in found["rows"]:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.4f}"
        print(
            f"  {row['row']:>24} {row['lane']:<10} {row['status']:<10} {ratio} "
            f"{row['interval'] and [round(x, 4) for x in row['interval']]} "
            f"base {row['baseline_us'] and round(row['baseline_us'], 2)} "
            f"twin {row['twin_us'] and round(row['twin_us'], 2)} {row['reason']}"
        )
    print(f"  {found['verdict']} {found['geomean']} {found['interval']}", flush=True)


# -- the parts


def against_itself(seconds: float, lanes: tuple[Lane, ...] = (Lane.THROUGHPUT,)) -> dict[str, Any]:
    """The baseline against itself on all ten rows: what is left is noise, and what it costs."""
    folder = load_task(RMS)
    return _itself(folder.workloads.rows, seconds, lanes)


def small_against_itself(seconds: float) -> dict[str, Any]:
    """The same on the host-bound rows alone, with more time, in both lanes."""
    sizes = moved(RMS)
    rows = load_task(RMS).workloads.rows
    few = tuple(row for row in rows if sizes[row.id] <= HOST_BOUND_BYTES)
    return _itself(few, seconds, (Lane.THROUGHPUT, Lane.LATENCY))


def _itself(rows: tuple[Row, ...], seconds: float, lanes: tuple[Lane, ...]) -> dict[str, Any]:
    folder = load_task(RMS)
    loaded = load_baseline(folder)
    side = Contender(loaded.sealed, loaded.sources)
    case = Case(folder.task, folder.content_hash, rows, folder.reference, side, side)
    begun = time.monotonic()
    referee = Referee(case, budget=Budget(task_seconds=seconds), lanes=lanes)
    judgement = referee.judge()
    wall = time.monotonic() - begun
    inside = sum(s.nanoseconds for record in judgement.records for s in record.samples) / 1e9
    inside += sum(n for record in judgement.records for n in record.twin_nanoseconds) / 1e9
    found = told(judgement)
    show(found)
    print(f"  {wall:.1f} s, {inside / wall:.0%} inside timed batches", flush=True)
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
        "timed_seconds": inside,
        "device": dict(judgement.device),
    }


def _spread(record: RowRecord) -> dict[str, list[float]]:
    """By process, the median microseconds of a call: what varies from process to process."""
    by: dict[str, list[float]] = {}
    for sample in record.samples:
        key = f"{sample.generation}_{sample.side}"
        by.setdefault(key, []).append(sample.nanoseconds / sample.launches / 1000)
    return {key: [round(value, 2) for value in values] for key, values in by.items()}


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


# Says that it is done `hidden` microseconds before it is, by what it knows of its own calls.
EARLY = """
import gc
import time
import torch
from assay.runner import machine
HIDDEN_US, CALL_US = {hidden}, {call}
events = []
def copy(x, y):
    y.copy_(x)
    event = torch.cuda.Event()
    event.record()
    events.append(event)
def early():
    whole = int(HIDDEN_US // CALL_US)
    if len(events) > whole + 1:
        events[-2 - whole].synchronize()
    end = time.perf_counter_ns() + int((CALL_US - HIDDEN_US % CALL_US) * 1000)
    while events and time.perf_counter_ns() < end:
        pass
    events.clear()
for found in gc.get_objects():
    if isinstance(found, machine.GpuMachine):
        found.synchronize = early
"""
RECORDING = """
import torch
events = []
def copy(x, y):
    y.copy_(x)
    event = torch.cuda.Event()
    event.record()
    events.append(event)
    if len(events) > 20000:
        events.clear()
"""


def early_ring(seconds: float) -> dict[str, Any]:
    """A runner that says it is done while 20 to 500 µs of its work are still to come."""
    call_us = 83.0  # of a copy that moves 332 MB
    outcome: dict[str, Any] = {}
    for hidden in (20, 50, 100, 200, 500):
        case = copy_case(EARLY.format(hidden=hidden, call=call_us), (332.0,), RECORDING)
        lanes = (Lane.THROUGHPUT, Lane.LATENCY) if hidden < call_us else (Lane.THROUGHPUT,)
        for lane in lanes:
            referee = Referee(case, budget=Budget(task_seconds=seconds), lanes=(lane,))
            found = told(referee.judge())
            show(found)
            outcome[f"{hidden}us_{lane}"] = found
    return {"call_us": call_us, "outcome": outcome}


def overhead(_: float) -> dict[str, Any]:
    """The referee's clock against the runner's own, batch by batch."""
    case = copy_case(PLAIN, (66.0, 1.0))
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: _source(case, row, device) for row in case.rows}
        program = _program(case.task, case.baseline)
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


def _source(case: Case, row: Row, device: CudaDevice) -> RowSource:
    function = case.function_of(row)
    generator = seeded(device.torch_device, 7)
    return RowSource(
        function, row, lambda: make_inputs(function, row, Distribution.NORMAL, generator)
    )


def twins(_: float) -> dict[str, Any]:
    """The copy twin's share of the large copy's bandwidth, by megabytes moved."""
    sizes = (20.0, 38.0, 52.0, 103.0, 151.0, 332.0)
    case = copy_case(PLAIN, sizes)
    shares: dict[str, Any] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: _source(case, row, device) for row in case.rows}
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


# Puts into y how long a sweep over x took by the device's own events; a probe, not a copy.
SWEEP = """
import torch
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
class Window(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t), ("share", ctypes.c_float),
                ("hit", ctypes.c_int), ("miss", ctypes.c_int), ("pad", ctypes.c_char * 32)]
done = []
def persist(x):
    most = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(most), 108, 0)
    done.append(driver.cuCtxSetLimit(6, ctypes.c_size_t(most.value)))
    window = Window(x.data_ptr(), min(most.value, x.nbytes), 1.0, 2, 1)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    done.append(driver.cuStreamSetAttribute(stream, 1, ctypes.byref(window)))
    assert done == [0, 0], (most.value, done)
out = None
def copy(x, y):
    global out
    if PERSIST and not done:
        persist(x)
    if out is None:
        out = torch.empty_like(x)
    torch.cuda._sleep(100000)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    torch.add(x, 1.0, out=out)
    end.record()
    end.synchronize()
    y.fill_(begin.elapsed_time(end) * 1000)
"""


def flush(_: float) -> dict[str, Any]:
    """A sweep by a runner over a buffer that it has just swept: at once, and after the referee's
    flush; the same for a runner that asks for its lines to persist."""
    found: dict[str, Any] = {}
    for name, flag in (("plain", False), ("persisting", True)):
        case = copy_case(f"PERSIST = {flag}\n{SWEEP}", (16.0,))
        with CudaDevice() as device, device.referee_core():
            row = case.rows[0]
            source = _source(case, row, device)
            device.rows = {row.id: source}
            with device.start(_program(case.task, case.candidate)) as process:
                found[name] = _swept(process, source, device)
            found["referee"] = device.report()["flush"]
    print(found, flush=True)
    return found


def _swept(process: RunnerProcess, source: RowSource, device: CudaDevice) -> dict[str, float]:
    session = process._session("sweep", source, slots=4)
    process._enter(session, source)
    start = session.layout.start(session.layout.places["y"], 0)

    def sweep(times: int) -> float:
        process.runner.ask({"do": "call", "row": "sweep", "slots": [0] * times}, 30.0)
        return float(struct.unpack("<f", process.memory.read(start, 4))[0])

    sweep(5)
    hot, cold = [], []
    for _ in range(9):
        hot.append(sweep(3))
        device.hand_over()
        cold.append(sweep(1))
    return {"hot_us": statistics.median(hot), "flushed_us": statistics.median(cold)}


def spoiling(_: float) -> dict[str, Any]:
    """What it costs a batch that the referee spoils two slots in the middle of it."""
    case = copy_case(PLAIN, (66.0, 332.0))
    found: dict[str, Any] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: _source(case, row, device) for row in case.rows}
        with device.start(_program(case.task, case.candidate)) as process:
            gates = process._gates
            for row, launches in zip(case.rows, (3000, 600), strict=True):
                times: dict[str, list[float]] = {"with": [], "without": []}
                spoilt = 0
                for turn in range(24):
                    spoils = turn % 2 == 0
                    process._gates = gates if spoils else lambda *_: {}  # type: ignore[method-assign]
                    taken = process.time(row.id, Lane.THROUGHPUT, launches, 64).nanoseconds
                    times["with" if spoils else "without"].append(taken / 1e6)
                    spoilt += 2 if spoils else 0
                found[row.id] = {
                    "with_ms": statistics.median(times["with"][1:]),
                    "without_ms": statistics.median(times["without"][1:]),
                    "slots_spoilt": spoilt,
                }
    print(found, flush=True)
    return found


def read_back(_: float) -> dict[str, Any]:
    """How long the referee takes to read a few bytes: by the copy engine and by a kernel of its
    own, with the device idle and in the middle of a runner's batch."""
    case = copy_case(PLAIN, (332.0,))
    row = case.rows[0]
    found: dict[str, list[float]] = {}
    with CudaDevice() as device, device.referee_core():
        device.rows = {row.id: _source(case, row, device)}
        with device.start(_program(case.task, case.candidate)) as process:

            def timed(name: str, work: Callable[[], object], times: int) -> None:
                for _ in range(times):
                    begun = time.perf_counter_ns()
                    work()
                    found.setdefault(name, []).append((time.perf_counter_ns() - begun) / 1000)

            def by_copy() -> object:
                return process.memory.read(4096, 256)

            def by_kernel() -> object:
                return process.memory.flat[4096:4352].add(1).cpu()

            timed("copy_idle_us", by_copy, 30)
            timed("kernel_idle_us", by_kernel, 30)
            process._gates = lambda *_: {  # type: ignore[method-assign]
                100: lambda: timed("copy_busy_us", by_copy, 10),
                300: lambda: timed("kernel_busy_us", by_kernel, 3),
            }
            for _ in range(8):
                process.time(row.id, Lane.THROUGHPUT, 500, 16)
    medians = {name: statistics.median(values) for name, values in found.items()}
    print(medians, flush=True)
    return medians


def _program(task: Task, made: Contender) -> Program:
    return Program(task, made.solution, made.sources, made.solution.entry)


MEMO = """
known = {}
def copy(x, y):
    key = y.data_ptr()
    known[key] = known.get(key, 0) + 1
    if known[key] > 200 and known[key] % 3 == 0:
        return
    y.copy_(x)
"""


def left_out(seconds: float) -> dict[str, Any]:
    """A solution that leaves out every third call of a slot that it knows."""
    case = copy_case(MEMO, (332.0,))
    found = told(Referee(case, budget=Budget(task_seconds=seconds)).judge())
    show(found)
    return found


PARTS: dict[str, tuple[Callable[[float], dict[str, Any]], float]] = {
    "overhead": (overhead, 0.0),
    "read-back": (read_back, 0.0),
    "twins": (twins, 0.0),
    "flush": (flush, 0.0),
    "spoiling": (spoiling, 0.0),
    "left-out": (left_out, 6.0),
    "slower": (slower, 16.0),
    "early-ring": (early_ring, 10.0),
    "against-itself": (against_itself, 62.0),
    "small-against-itself": (small_against_itself, 100.0),
}


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--seconds", type=float)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    for name in chosen.part or PARTS:
        work, seconds = PARTS[name]
        print(f"== {name}", flush=True)
        begun = time.monotonic()
        body = work(chosen.seconds or seconds)
        row = record({"name": f"cuda-{name}", "seconds": time.monotonic() - begun, **body})
        print(f"== {name}: {time.monotonic() - begun:.1f} s  ledger id {row}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
