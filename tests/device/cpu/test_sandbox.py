"""Solutions against the sandbox, through the judge: what stops them, and what a verdict says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.judge.referee import Referee
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import PARTS
from assay.runner.sandbox import READ_ONLY_ROOT
from assay.runner.sandbox import SECCOMP
from assay.spec.defences import Defences
from assay.spec.errors import UsageError
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of
from tests.runner.sandboxed import granted
from tests.runner.sandboxed import require

TRACER = "import ctypes\nassert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0\n" + PLAIN
# The first call is honest; what comes with the second is not.
LATE = """
import ctypes, torch
calls = []
def twice(x, y, *, bias):
    torch.mul(x, 2, out=y)
    y.add_(bias)
    calls.append(1)
    if len(calls) > 1:
        ctypes.CDLL(None).ptrace(0, 0, 0, 0)
"""
HONEST = """
import os, subprocess, tempfile, threading, torch
torch.set_num_threads(2)
torch.ones(1 << 20).exp_().sum()
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "f.c")
    open(source, "w").write("int f(void) { return 2; }")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", source + ".so"], check=True)
    import ctypes
    factor = ctypes.CDLL(source + ".so").f()
worker = threading.Thread(target=print)
worker.start()
worker.join()
def twice(x, y, *, bias):
    torch.mul(x, factor, out=y)
    y.add_(bias)
"""


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of somebody else, which no private /tmp hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="assay-test-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def open_door() -> Iterator[CpuDevice]:
    """A device whose runners have neither landlock nor seccomp nor a read-only root."""
    with CpuDevice(without=(LANDLOCK, SECCOMP, READ_ONLY_ROOT)) as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def test_a_runner_has_all_that_the_kernel_grants(device: CpuDevice, open_door: CpuDevice) -> None:
    with device.start(program(PLAIN)) as process:
        assert process.runner.held == granted()
    with open_door.start(program(PLAIN)) as process:
        off = dict.fromkeys((LANDLOCK, SECCOMP, READ_ONLY_ROOT), False)
        assert process.runner.held == {**granted(), **off}


def test_a_forbidden_call_is_a_violation_in_one_line(
    device: CpuDevice, open_door: CpuDevice
) -> None:
    require(SECCOMP)
    with pytest.raises(ProcessFailure) as caught:
        device.start(program(TRACER))
    assert caught.value.status is Status.VIOLATION
    assert caught.value.violation is ViolationKind.SANDBOX
    assert str(caught.value) == (
        "its process was ended by SIGSYS: it made a system call that the sandbox forbids"
    )
    with open_door.start(program(TRACER)) as process:
        exam = process.examine(source_of(rows()[0]), {"x": torch.ones(4096)})
    assert exam.first["y"].tolist() == [2.5] * 4096


def test_a_forbidden_call_in_a_later_call_is_found_too(device: CpuDevice) -> None:
    require(SECCOMP)
    with device.start(program(LATE)) as process, pytest.raises(ProcessFailure) as caught:
        process.examine(source_of(rows()[0]), {"x": torch.ones(4096)})
    assert caught.value.violation is ViolationKind.SANDBOX


@pytest.mark.parametrize("action", ["open({path!r}).read()", "open({path!r}, 'w')"])
def test_a_ledger_cannot_be_read_or_written(
    device: CpuDevice, open_door: CpuDevice, others: Path, action: str
) -> None:
    require(LANDLOCK, READ_ONLY_ROOT)
    (others / "ledger").write_text("secret")
    source = action.format(path=str(others / "ledger")) + "\n" + PLAIN
    with pytest.raises(ProcessFailure, match=r"Permission denied|Read-only file system"):
        device.start(program(source))
    assert (others / "ledger").read_text() == "secret"
    with open_door.start(program(source)):
        pass


def test_threads_compilers_and_temporary_files_work(device: CpuDevice) -> None:
    with device.start(program(HONEST)) as process:
        exam = process.examine(source_of(rows()[0]), {"x": torch.ones(4096)})
    assert exam.first["y"].tolist() == [2.5] * 4096


def verdict_of(candidate: str, defences: Defences) -> tuple[str, tuple[str, ...], dict[str, bool]]:
    judgement = Referee(
        case(contender(candidate)),
        rules=Rules(generations=5, ab_blocks=1, aa_blocks=1),
        budget=Budget(task_seconds=2.0),
        defences=defences,
    ).judge()
    return judgement.verdict.verdict.value, judgement.verdict.labels, dict(judgement.sandbox)


def test_a_verdict_says_which_part_was_off_and_what_held() -> None:
    require(*PARTS)
    status, labels, held = verdict_of(TRACER, Defences())
    assert status == Status.VIOLATION
    assert not [label for label in labels if "isolation" in label or "defence" in label]
    assert held == dict.fromkeys(PARTS, True)
    status, labels, held = verdict_of(TRACER, Defences(seccomp=False))
    assert status != Status.VIOLATION
    assert labels.count("defence off: seccomp") == 1
    assert not [label for label in labels if "isolation" in label]
    assert held == {**dict.fromkeys(PARTS, True), SECCOMP: False}


def test_a_part_that_is_none_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(UsageError, match="the sandbox has no part called secomp"):
        CpuDevice(without=("secomp",)).__enter__()
