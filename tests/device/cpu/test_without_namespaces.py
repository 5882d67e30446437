"""A host that grants no namespaces: all works at a lower label, and nothing is left running."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.judge.referee import Referee
from assay.runner import isolate
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with CpuDevice(isolate=False) as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def test_a_runner_works_and_says_what_it_lacks(device: CpuDevice) -> None:
    with device.start(program(PLAIN)) as process:
        exam = process.examine(source_of(rows()[0]), {"x": torch.ones(4096)})
        assert process.runner.held == {
            isolate.NAMESPACES: False,
            isolate.PRIVATE_FOLDERS: False,
        }
    assert exam.first["y"].tolist() == [2.5] * 4096


def test_the_folder_of_a_solution_is_removed_with_its_runner(
    device: CpuDevice, tmp_path: Path
) -> None:
    note = tmp_path / "where"
    source = f"open({str(note)!r}, 'w').write(__file__)\n" + PLAIN
    with device.start(program(source)):
        folder = Path(note.read_text()).parent
        assert folder.is_dir()
    assert not folder.exists()


def test_a_verdict_is_labelled_with_what_its_runners_lacked() -> None:
    rules = Rules(generations=5, ab_blocks=1, aa_blocks=1)
    referee = Referee(
        case(contender(PLAIN)), rules=rules, budget=Budget(task_seconds=2.0), isolate=False
    )
    assert "weaker isolation: no namespaces, no private_folders" in referee.judge().verdict.labels


def test_a_daemon_that_left_its_group_is_killed_with_its_runner(
    device: CpuDevice, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    source = (
        "import os, time, torch\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        open({str(note)!r}, 'w').write(str(os.getpid()))\n        time.sleep(600)\n"
        "    os._exit(0)\n" + PLAIN
    )
    with device.start(program(source)):
        deadline = time.monotonic() + 10
        while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        daemon = int(note.read_text())
        assert Path(f"/proc/{daemon}").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)
