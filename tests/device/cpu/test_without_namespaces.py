"""A host that grants no namespaces: all works at a lower label, and nothing is left running."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.judge.referee import Referee
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import PRIVATE_FOLDERS
from assay.runner.sandbox import READ_ONLY_ROOT
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.status import Status
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of
from tests.runner.sandboxed import granted
from tests.runner.sandboxed import require


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with CpuDevice(isolate=False) as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def test_a_runner_works_and_says_what_it_lacks(device: CpuDevice) -> None:
    with device.start(program(PLAIN)) as process:
        exam = process.examine(source_of(rows()[0]), {"x": torch.ones(4096)})
        held = process.runner.held
    without = {NAMESPACES: False, PRIVATE_FOLDERS: False, READ_ONLY_ROOT: False}
    # Those that need no namespace are as the kernel has them.
    assert held == {**granted(), **without}
    assert exam.first["y"].tolist() == [2.5] * 4096


@pytest.fixture(scope="module")
def unwatched() -> Iterator[CpuDevice]:
    """One whose runners may also write down what they saw."""
    with CpuDevice(isolate=False, without=(LANDLOCK,)) as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def test_landlock_alone_keeps_a_solution_to_its_own_folder(
    device: CpuDevice, tmp_path: Path
) -> None:
    require(LANDLOCK)
    source = f"open({str(tmp_path / 'note')!r}, 'w')\n" + PLAIN
    with pytest.raises(ProcessFailure, match="PermissionError") as caught:
        device.start(program(source))
    assert caught.value.status is Status.IMPORT_ERROR
    # Temporary files have a place all the same.
    own = "import os, tempfile\nassert tempfile.mkdtemp().startswith(os.path.dirname(__file__))\n"
    with device.start(program(own + PLAIN)):
        pass


def test_the_folder_of_a_solution_is_removed_with_its_runner(
    unwatched: CpuDevice, tmp_path: Path
) -> None:
    note = tmp_path / "where"
    source = f"open({str(note)!r}, 'w').write(__file__)\n" + PLAIN
    with unwatched.start(program(source)):
        folder = Path(note.read_text()).parent
        assert folder.is_dir()
    assert not folder.exists()


def test_a_verdict_is_labelled_with_what_its_runners_lacked() -> None:
    rules = Rules(generations=5, ab_blocks=1, aa_blocks=1)
    referee = Referee(
        case(contender(PLAIN)), rules=rules, budget=Budget(task_seconds=2.0), isolate=False
    )
    judgement = referee.judge()
    missing = "weaker isolation: no namespaces, no private_folders, no read_only_root"
    assert any(label.startswith(missing) for label in judgement.verdict.labels)
    assert judgement.sandbox[NAMESPACES] is False


def test_a_daemon_that_left_its_group_is_killed_with_its_runner(
    unwatched: CpuDevice, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    source = (
        "import os, time, torch\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        open({str(note)!r}, 'w').write(str(os.getpid()))\n        time.sleep(600)\n"
        "    os._exit(0)\n" + PLAIN
    )
    with unwatched.start(program(source)):
        deadline = time.monotonic() + 10
        while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        daemon = int(note.read_text())
        assert Path(f"/proc/{daemon}").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)
