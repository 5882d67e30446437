"""The gate around compute-sanitizer, with scripts that stand in for it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.device.cuda import toolkit
from assay.device.environment import environment
from assay.judge import sanitizer as gate
from assay.judge.sanitizer_job import small_rows
from assay.judge.sanitizer_report import ALL_TOOLS
from assay.judge.sanitizer_report import SanitizerReport
from assay.judge.sanitizer_report import Tool
from assay.judge.sanitizer_report import own_kernels
from assay.judge.sanitizer_report import sanitizer_clean
from assay.judge.sanitizer_text import Finding
from assay.ledger import Ledger
from assay.spec.errors import UnavailableError
from tests.device.cpu import making
from tests.judge.sanitizer_stand_in import REPORT
from tests.judge.sanitizer_stand_in import stand_in


def sanitize(sanitizer: str, source: str = making.PLAIN, **more: Any) -> SanitizerReport:
    made = making.contender(source)
    return gate.sanitize(
        made,
        making.program(source),
        making.rows(),
        device="cpu",
        **{"tools": (Tool.MEMCHECK,), "seconds": 120.0, "sanitizer": sanitizer, **more},
    )


def test_the_solution_is_called_under_every_tool_and_a_whole_clean_run_is_clean(
    tmp_path: Path,
) -> None:
    body = f"""
with open({str(tmp_path / "seen")!r}, "a") as file:
    print(tool, os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"], sys.argv[1:], file=file)
status = subprocess.run(command).returncode
summary(); sys.exit(status)
"""
    report = sanitize(stand_in(tmp_path, body), tools=ALL_TOOLS)
    assert report.clean
    assert (report.unfinished, report.findings) == ((), ())
    assert report.sanitizer == "2025.3.1.0"
    seen = (tmp_path / "seen").read_text().splitlines()
    assert [line.split()[:2] for line in seen] == [[tool.value, "1"] for tool in ALL_TOOLS]
    assert "'--error-exitcode', '86'" in seen[0]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("called(); summary(); sys.exit(0)", None),
        # The honest line above, each with one thing amiss.
        ("called(); sys.exit(0)", "the tool printed no summary; its last word: -"),
        ("summary(); sys.exit(0)", "the solution ended before its last call"),
        ("called(); summary(); sys.exit(1)", "the tool ended with status 1"),
        ("called(); summary(); sys.exit(86)", "the tool ended with status 86"),
        ("called(); summary(); os.kill(os.getpid(), 9)", "the tool ended with status 137"),
        ("called(); print('\\0\\x1b[31m=== Device not supported')", "the tool printed no summary"),
        ("os.write(1, os.urandom(9 << 20)); called()", "the tool printed no summary"),
        ("sys.exit(subprocess.run(command).returncode)", "the tool printed no summary"),
    ],
)
def test_a_run_that_is_not_whole_is_not_clean(
    tmp_path: Path, body: str, problem: str | None
) -> None:
    report = sanitize(stand_in(tmp_path, body))
    assert report.clean is (problem is None)
    assert report.unfinished == (() if problem is None else (Tool.MEMCHECK,))
    assert (report.runs[0].problem or "").startswith(problem or "")


def test_a_solution_that_fails_is_quoted(tmp_path: Path) -> None:
    body = "subprocess.run(command); summary(); sys.exit(1)"
    report = sanitize(stand_in(tmp_path, body), "raise OSError('no device')\n")
    assert report.runs[0].verdict == "the solution failed: OSError: no device"
    assert not report.clean


def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    body = f"""
for _ in range(3):
    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(600)
    with open({str(note)!r}, "a") as file:
        print(child, file=file)
called(); summary(); time.sleep(600)
"""
    begun = time.monotonic()
    report = sanitize(stand_in(tmp_path, body), seconds=5.0)
    assert time.monotonic() - begun < 60
    # It had printed a clean summary; that it did is not that it ended.
    assert report.runs[0].verdict == "not finished within 5 s"
    assert (report.clean, report.unfinished) == (False, (Tool.MEMCHECK,))
    children = [int(line) for line in note.read_text().split()]
    assert len(children) == 3
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_tools_share_the_time_and_those_that_get_none_are_not_clean(tmp_path: Path) -> None:
    script = stand_in(tmp_path, "time.sleep(600)")
    report = sanitize(script, tools=ALL_TOOLS, seconds=4.0)
    assert report.unfinished == ALL_TOOLS
    assert sum(run.seconds for run in report.runs) < 60


def test_a_finding_is_not_clean_until_the_baseline_has_it_in_a_kernel_of_neither(
    tmp_path: Path,
) -> None:
    script = stand_in(tmp_path, REPORT.format(kernel="at::native::gather"))
    report = sanitize(script)
    assert (report.clean, report.foreign_tools) == (False, (Tool.MEMCHECK,))
    assert report.findings == (
        (
            Tool.MEMCHECK,
            Finding(
                "Uninitialized __global__ memory read of size 4 bytes",
                "at::native::gather(float *)",
                "kernel.py:3",
            ),
        ),
    )
    beside = report.against(report)
    assert beside.clean
    assert beside.findings[0][1].excused
    assert beside.to_row()["baseline_hash"] == report.candidate_hash
    # The baseline's finding must be the same one, and all that was counted must have been seen.
    run = report.runs[0]
    other = replace(run, findings=(replace(run.findings[0], kind="Invalid read"),))
    assert not report.against(replace(report, runs=(other,))).clean
    hidden = replace(report, runs=(replace(run, errors=7),))
    assert hidden.against(report).runs[0].verdict == "not clean, 6 not shown"


def test_the_solution_s_own_kernels_are_never_excused(tmp_path: Path) -> None:
    source = "def gather(): ...\n" + making.PLAIN
    report = sanitize(stand_in(tmp_path, REPORT.format(kernel="ns::gather")), source)
    assert report.foreign_tools == ()
    assert not report.against(report).clean
    nameless = Finding("Leaked", None, None)
    assert own_kernels({"k.cu": b"gather"}, [nameless]) == frozenset()


def test_rows_are_the_smallest_frozen_one_of_each_function_and_small_draws() -> None:
    task, frozen = making.task(), making.rows()[0]
    twice = frozen.model_copy(update={"id": "n2", "tensors": dict(frozen.tensors)})
    rows = small_rows(task, (frozen, twice), seed=7)
    assert [row.id for row in rows] == ["n4096", "hidden_0", "hidden_1", "hidden_2", "hidden_3"]
    assert rows == small_rows(task, (frozen, twice), seed=7)
    assert rows != small_rows(task, (frozen, twice), seed=8)
    for row in rows:
        assert all(t is None or t.elements <= 2**14 for t in row.tensors.values())


def test_the_ledger_answers_for_promotion_by_the_hash_of_the_sources(tmp_path: Path) -> None:
    script = stand_in(tmp_path, "called(); summary()")
    report = replace(sanitize(script, tools=ALL_TOOLS), device="cuda")
    ledger = Ledger(tmp_path / "ledger")

    def after(*reports: SanitizerReport) -> bool | None:
        with ledger.writer(environment()) as writer:
            for each in reports:
                writer.append("sanitizer", each.to_row())
        return sanitizer_clean(ledger.rows(), report.candidate_hash)

    # A part of the tools, another candidate, or another device are no answer.
    assert after(replace(report, runs=report.runs[:3])) is None
    assert after(replace(report, candidate_hash="0" * 64), replace(report, device="cpu")) is None
    assert after(report) is True
    spoilt = replace(report.runs[1], problem="not finished within 5 s")
    assert after(replace(report, runs=(spoilt,))) is False
    assert after(replace(report, runs=(report.runs[1],))) is True


def test_it_is_looked_for_on_the_path_and_below_cuda_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(toolkit, "USUAL_TOOLKIT", tmp_path / "usual")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    with pytest.raises(UnavailableError, match=r"no compute-sanitizer.*apt-get install"):
        gate.find_sanitizer()
    (tmp_path / "bin").mkdir()
    script = stand_in(tmp_path / "bin", "")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert gate.find_sanitizer() == script


def test_something_that_is_no_program_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "compute-sanitizer"
    path.write_bytes(b"\x7fELF garbage")
    path.chmod(0o755)
    with pytest.raises(UnavailableError, match="does not run"):
        sanitize(str(path))
