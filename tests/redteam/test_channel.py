"""Attacks on results and processes: each wins against an evaluator of the usual kind, where
everything is in one process, and gains nothing here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.redteam.attack import Attack
from assay.redteam.attack import AttackClass
from assay.redteam.find import shipped_attacks
from assay.redteam.trial import try_attack
from assay.spec.status import Status
from assay.spec.task import DeviceKind
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of

ATTACKS = tuple(attack for attack in shipped_attacks() if attack.kind is AttackClass.CHANNEL)
ALWAYS = "exit_zero_early"
"""The one that every run of the tests tries; all the others take minutes together."""


@pytest.fixture(scope="module")
def device() -> Iterator[CpuDevice]:
    with CpuDevice() as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def word_of(device: CpuDevice, body: str) -> str:
    """What a solution says of the process in which it is called."""
    source = f"def twice(x, y, *, bias):\n{body}"
    with device.start(program(source)) as process, pytest.raises(ProcessFailure) as caught:
        process.examine(source_of(rows()[0]), {"x": torch.zeros(4096)})
    return str(caught.value)


def test_every_exploit_of_the_class_has_its_attack() -> None:
    numbers = [number for attack in ATTACKS for number in attack.file.exploits]
    assert sorted(numbers) == list(range(26, 43))
    assert all(DeviceKind.CPU in attack.file.devices for attack in ATTACKS)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            attack, id=attack.name, marks=() if attack.name == ALWAYS else pytest.mark.long
        )
        for attack in ATTACKS
    ],
)
def test_it_wins_elsewhere_and_ends_here_as_it_says(attack: Attack) -> None:
    trial = try_attack(attack)
    assert trial.loaded, trial.plain
    assert trial.stopped, trial.end
    assert trial.end.status is not Status.FASTER


def test_a_runner_finds_one_socket_and_no_file_or_pipe_to_write_to(device: CpuDevice) -> None:
    body = (
        "    import os, stat\n"
        "    kinds = {'socket': stat.S_ISSOCK, 'pipe': stat.S_ISFIFO}\n"
        "    found = []\n"
        "    for descriptor in map(int, os.listdir('/proc/self/fd')):\n"
        "        try:\n"
        "            mode = os.fstat(descriptor).st_mode\n"
        "        except OSError:\n"
        "            continue\n"
        "        found += [name for name, test in kinds.items() if test(mode)]\n"
        "    nowhere = {os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)}\n"
        "    raise RuntimeError(f'{found} {nowhere}')\n"
    )
    assert word_of(device, body) == "RuntimeError: ['socket'] {'/dev/null'}"


def test_a_runner_cannot_name_its_parent(device: CpuDevice) -> None:
    body = "    import os\n    raise RuntimeError(f'parent {os.getppid()}')\n"
    with device.start(program("def twice(x, y, *, bias):\n    pass\n")) as process:
        held = process.runner.held["namespaces"]
    said = word_of(device, body)
    # Without namespaces the label of every verdict says so.
    assert (said == "RuntimeError: parent 0") is held
