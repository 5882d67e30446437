"""compute-sanitizer over a solution: four tools, small rows, a bounded time.

The tools make the kernels they watch many times slower, so rows are small ones. They see
mistakes. A solution that wants to hide from them can: it shares a process with what watches it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from assay.device.cuda import toolkit
from assay.device.runners import Program
from assay.device.runners.zygote import runner_environment
from assay.judge.case import Contender
from assay.judge.sanitizer_job import CALLS
from assay.judge.sanitizer_job import OUTCOME
from assay.judge.sanitizer_job import kind_of
from assay.judge.sanitizer_job import write_job
from assay.judge.sanitizer_report import ALL_TOOLS
from assay.judge.sanitizer_report import SanitizerReport
from assay.judge.sanitizer_report import Tool
from assay.judge.sanitizer_report import ToolRun
from assay.judge.sanitizer_report import own_kernels
from assay.judge.sanitizer_text import Printed
from assay.judge.sanitizer_text import read_output
from assay.judge.sitting import Progress
from assay.runner.keep import OUT_OF_TIME
from assay.spec.errors import UnavailableError
from assay.spec.errors import quote
from assay.spec.workload import Row

DEFAULT_SECONDS = 300.0

_NAME = "compute-sanitizer"
_FOUND_ERRORS = 86
_MOST_OUTPUT = 4 << 20
_VERSION_SECONDS = 30.0

_OPTIONS = (
    *("--error-exitcode", str(_FOUND_ERRORS)),
    *("--print-limit", "1000"),
    # The frames of the kernel; those of the host are Python's own.
    *("--show-backtrace", "device"),
    # Compilers that a solution starts are not what is watched.
    *("--target-processes", "application-only"),
)
_TOOL_OPTIONS: dict[Tool, tuple[str, ...]] = {
    # Memory after each allocation that belongs to nobody, so that running over one does not end
    # in the next. API errors are left out: libraries ask the driver for what it may not have, and
    # a failure that matters is raised by torch or leaves a wrong answer.
    Tool.MEMCHECK: ("--padding", "4096", "--leak-check", "no", "--report-api-errors", "no"),
    Tool.RACECHECK: ("--racecheck-report", "analysis"),
    Tool.INITCHECK: (),
    # Left to itself it loses count of the barriers of cuDNN's attention on an H200 (2025.3.1), and
    # so with 64; with 1024 it does not, and takes no longer.
    Tool.SYNCCHECK: ("--num-cuda-barriers", "1024"),
}


def find_sanitizer() -> str:
    found = toolkit.find_tool(_NAME)
    if found is not None:
        return found
    raise UnavailableError(
        f"no {_NAME} on the PATH, in $CUDA_HOME/bin or in {toolkit.USUAL_TOOLKIT}/bin",
        next_step="it is part of the CUDA toolkit: apt-get install cuda-sanitizer",
    )


def sanitize(
    contender: Contender,
    program: Program,
    rows: Sequence[Row],
    *,
    device: str = "cuda",
    tools: Sequence[Tool] = ALL_TOOLS,
    seconds: float = DEFAULT_SECONDS,
    seed: int = 0,
    sanitizer: str | None = None,
    report: Callable[[Progress], None] = lambda _: None,
) -> SanitizerReport:
    """Run the tools over the rows one after the other, in no more than `seconds` altogether.

    `program` is the contender, built. Time that a tool leaves goes to those after it.
    """
    executable = sanitizer or find_sanitizer()
    version = _version(executable)
    end = time.monotonic() + seconds
    runs: list[ToolRun] = []
    for index, tool in enumerate(tools):
        report(Progress(index, len(tools), f"{contender.solution.name} {tool}"))
        share = (end - time.monotonic()) / (len(tools) - index)
        if share > 0:
            runs.append(_run_tool(executable, tool, program, rows, device, seed, share))
        else:
            runs.append(ToolRun(tool, 0.0, (), None, "not begun: no time was left"))
    findings = [finding for run in runs for finding in run.findings]
    return SanitizerReport(
        task=program.task.name,
        candidate=contender.solution.name,
        candidate_hash=contender.sealed.content_hash,
        device=kind_of(device),
        sanitizer=version,
        seed=seed,
        rows=tuple(rows),
        runs=tuple(runs),
        own_kernels=own_kernels(contender.sources, findings),
    )


def _version(executable: str) -> str:
    try:
        told = subprocess.run(
            [executable, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{_NAME} does not run: {quote(error)}") from None
    match = re.search(rb"[Vv]ersion ([\w.]{1,40})", told)
    return match[1].decode() if match else "unknown"


def _run_tool(
    executable: str,
    tool: Tool,
    program: Program,
    rows: Sequence[Row],
    device: str,
    seed: int,
    seconds: float,
) -> ToolRun:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-sanitize-") as name:
        folder = Path(name)
        job = write_job(folder, program, rows, device, seed)
        command = [
            *(executable, "--tool", tool.value, *_OPTIONS, *_TOOL_OPTIONS[tool]),
            *(sys.executable, "-m", "assay.runner.once", str(job)),
        ]
        status, text = _run_bounded(command, folder, seconds)
        printed = read_output(text)
        if status == OUT_OF_TIME:
            problem: str | None = f"not finished within {seconds:.0f} s"
        else:
            problem = _problem(status, printed, text, _told(folder / OUTCOME), len(rows))
    return ToolRun(tool, time.monotonic() - begun, printed.findings, printed.errors, problem)


def _run_bounded(command: list[str], folder: Path, seconds: float) -> tuple[int, str]:
    """Exit status and output; nothing that the command started is left when this returns."""
    environment = {
        **runner_environment(),
        # Every tensor its own cudaMalloc, so that the tools know where each one ends.
        "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
        "HOME": str(folder),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "assay.runner.keep", f"{seconds:.3f}", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as keeper:
        assert keeper.stdout is not None
        text = _read_bounded(keeper.stdout)
        # Not communicate(): closing its input is what tells the keeper to end early.
        keeper.wait()
    return keeper.returncode, text


def _read_bounded(stream: IO[bytes]) -> str:
    """All of it up to a size; of more, the beginning and the end."""
    head = stream.read(_MOST_OUTPUT)
    tail = b""
    while part := stream.read(1 << 16):
        tail = (tail + part)[-_MOST_OUTPUT:]
    return (head + tail).decode(errors="replace")


def _told(outcome: Path) -> dict[str, object]:
    """What the process wrote of itself; nothing if it did not get that far."""
    try:
        told = json.loads(outcome.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _problem(
    status: int, printed: Printed, text: str, told: dict[str, object], rows: int
) -> str | None:
    """What keeps a run that ended by itself from being a whole one."""
    if "failed" in told:
        return f"the solution failed: {quote(told['failed'])}"
    if printed.errors is None:
        words = [line.strip("= ") for line in text.splitlines() if line.strip("= ")]
        return f"the tool printed no summary; its last word: {quote(words[-1] if words else '-')}"
    if told != {"calls": rows * CALLS}:
        return "the solution ended before its last call"
    if status != 0 and not (status == _FOUND_ERRORS and printed.errors):
        return f"the tool ended with status {status}"
    return None
