"""Attacks on the clock: each wins against an evaluator of the usual kind and gains nothing here."""

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

ATTACKS = tuple(attack for attack in shipped_attacks() if attack.kind is AttackClass.TIMING)
HERE = tuple(attack for attack in ATTACKS if DeviceKind.CPU in attack.file.devices)
ALWAYS = "call_count_switch"
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
    assert sorted(numbers) == list(range(1, 26))


def test_what_cannot_run_on_a_cpu_needs_a_gpu_by_its_nature() -> None:
    elsewhere = {attack.name for attack in ATTACKS if attack not in HERE}
    assert elsewhere == {
        "cupti_disable",
        "cupti_name_mask",
        "cupti_unattributed",
        "empty_graph",
        "l2_persist_window",
    }


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            attack, id=attack.name, marks=() if attack.name == ALWAYS else pytest.mark.long
        )
        for attack in HERE
    ],
)
def test_it_wins_elsewhere_and_ends_here_as_it_says(attack: Attack) -> None:
    trial = try_attack(attack)
    assert trial.loaded, trial.plain
    assert trial.stopped, trial.end
    assert trial.end.status is not Status.FASTER


def test_no_frame_above_a_solution_holds_a_time(device: CpuDevice) -> None:
    body = (
        "    import sys\n"
        "    frame, found = sys._getframe().f_back, []\n"
        "    while frame is not None:\n"
        "        found += [n for n, v in frame.f_locals.items() if isinstance(v, float)]\n"
        "        frame = frame.f_back\n"
        "    raise RuntimeError(f'floats: {found}')\n"
    )
    assert word_of(device, body) == "RuntimeError: floats: []"


def test_the_main_module_of_a_runner_has_no_function_that_times(device: CpuDevice) -> None:
    body = (
        "    import sys\n"
        "    main = sys.modules['__main__']\n"
        "    clocks = {'time', 'perf_counter', 'perf_counter_ns', 'statistics', 'timed'}\n"
        "    raise RuntimeError(f'{main.__spec__.name}: {sorted(clocks & set(vars(main)))}')\n"
    )
    assert word_of(device, body) == "RuntimeError: assay.runner.zygote: []"
