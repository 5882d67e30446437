"""Attacks and twins that need a GPU: on one they are tried, elsewhere all that can be said of them
without one is."""

from __future__ import annotations

import ast
import importlib.util
import multiprocessing
import os
import re
import sys
from collections.abc import Callable
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.device.runners.target import Target
from assay.judge.build import compile_library
from assay.judge.inputs import make_inputs
from assay.judge.limits import check
from assay.judge.miss import Miss
from assay.judge.toolchain import NVCC
from assay.redteam.attack import Attack
from assay.redteam.attack import Twin
from assay.redteam.find import ROOT
from assay.redteam.find import find_attack
from assay.redteam.find import find_twin
from assay.redteam.find import shipped_attacks
from assay.redteam.find import shipped_twins
from assay.redteam.trial import try_attack
from assay.redteam.trial import try_twin
from assay.redteam.trial import twin_trial
from assay.spec.defences import Defences
from assay.spec.distribution import Distribution
from assay.spec.dtype import DType
from assay.spec.solution import Language
from assay.spec.status import Status
from assay.spec.task import DeviceKind
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of
from tests.gpu import needs_gpu
from tests.gpu import needs_nvcc

VICTIM = load_task(ROOT / "victim" / "cuda")
ATTACKS = tuple(a for a in shipped_attacks() if DeviceKind.CUDA in a.file.devices)
TWINS = tuple(t for t in shipped_twins() if DeviceKind.CUDA in t.file.devices)
EVERY: tuple[Attack | Twin, ...] = (*ATTACKS, *TWINS)
OURS = tuple(one for one in EVERY if tuple(one.file.devices) == (DeviceKind.CUDA,))
QUICK = ("cache_by_pointer_gpu", "fused_triton_gpu")
"""What every run of the tests on a GPU tries; all the others take minutes together."""

HARMFUL = (
    "cudaDeviceReset",
    "cudaMallocManaged",
    "cudaSetDeviceFlags",
    "cuDevicePrimaryCtxReset",
    "nvidia-smi",
    "subprocess",
    "os.system",
)
"""What no attack may so much as spell: resets, modes, managed memory, programs of the driver."""


def _params(known: tuple[Any, ...]) -> list[Any]:
    return [
        pytest.param(one, id=one.name, marks=() if one.name in QUICK else pytest.mark.long)
        for one in known
    ]


# -- on a GPU


@needs_gpu
@pytest.mark.parametrize("attack", _params(ATTACKS))
def test_an_attack_wins_elsewhere_and_is_stopped_here(attack: Attack) -> None:
    trial = try_attack(attack, "cuda")
    assert trial.end.status is not Status.FASTER, f"{trial.end.ratio}"
    assert trial.stopped, f"{trial.end.word}: {trial.end.reason}"
    assert trial.loaded, f"{trial.plain.word}: {trial.plain.result}"


@needs_gpu
@pytest.mark.parametrize("twin", _params(TWINS))
def test_a_twin_is_judged_by_its_speed_alone(twin: Twin) -> None:
    trial = twin_trial(twin, "cuda")
    assert trial.accepted, f"{trial.word}: {trial.end.reason}"
    assert trial.end.violation is None


@needs_gpu
@pytest.mark.long
def test_after_an_illegal_address_the_next_one_is_judged_as_ever() -> None:
    broken = try_attack(find_attack("illegal_address_gpu"), "cuda", plain=False)
    assert broken.end.status is Status.CRASH
    end = try_twin(find_twin("workspace_kept_gpu"), "cuda")
    assert end.status is not None
    assert end.status.is_timed, f"{end.word}: {end.reason}"


@needs_gpu
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("skip_known_slot_gpu", Defences(skipped_calls=False, content=False)),
        ("guard_overrun_gpu", Defences(guard_bands=False)),
        ("bfloat16_downgrade_gpu", Defences(limits=False)),
        ("tf32_dot_gpu", Defences(limits=False)),
        ("nan_on_zeros_gpu", Defences(distributions=False)),
        ("dropped_tail_gpu", Defences(hidden_rows=False)),
    ],
)
def test_without_its_defence_it_gets_through(name: str, off: Defences) -> None:
    end = try_attack(find_attack(name), "cuda", defences=off, plain=False).end
    assert end.status is not None
    assert end.status.is_timed, f"{end.word}: {end.reason}"


@needs_gpu
@pytest.mark.long
def test_answers_that_are_kept_are_worth_something_only_where_content_comes_again() -> None:
    memo = find_attack("memo_whole_input_gpu")
    new, again = (
        try_attack(memo, "cuda", defences=Defences(content=on), plain=False).end.ratio
        for on in (True, False)
    )
    assert new is not None
    assert again is not None
    assert again > 1.5 * new


# -- documents and sources


def test_there_are_enough_of_both() -> None:
    assert sum(one in ATTACKS for one in OURS) >= 25
    assert sum(one in TWINS for one in OURS) >= 12
    assert {one.language for one in OURS} == {Language.TORCH, Language.TRITON, Language.CUDA}


def test_the_victim_has_a_row_of_the_device_and_one_of_the_host() -> None:
    assert VICTIM.task.device is DeviceKind.CUDA
    moved = {
        row.id: sum(tensor.bytes for tensor in row.tensors.values() if tensor is not None)
        for row in VICTIM.workloads.rows
    }
    assert moved == {"m8192_d2048": 134_225_920, "m512_d1536": 6_297_600}


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_what_is_shipped_fits_the_victim(one: Attack | Twin) -> None:
    load_solution(one.folder, VICTIM.task)
    assert Status.FASTER not in one.file.ends or isinstance(one, Twin)


@pytest.mark.parametrize("one", OURS, ids=lambda one: one.name)
def test_no_source_can_harm_the_machine(one: Attack | Twin) -> None:
    for path in _sources(one):
        text = path.read_text()
        assert [word for word in HARMFUL if word in text] == []


def test_the_calls_that_set_clocks_are_looked_up_and_never_made() -> None:
    (path,) = _sources(find_attack("nvml_lookup_gpu"))
    tree = ast.parse(path.read_text())
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not any("nvml" in name or "library" in name for name in called)
    assert "hasattr" in called


@pytest.mark.parametrize(
    "one", [one for one in OURS if one.language is Language.CUDA], ids=lambda one: one.name
)
def test_a_native_source_has_the_entry_that_it_is_called_by(one: Attack | Twin) -> None:
    (path,) = _sources(one)
    text = path.read_text()
    entry = r'extern "C" int rms_norm\(const assay_tensor\* [^)]*cudaStream_t stream\)'
    assert len(re.findall(entry, text)) == 1
    assert '#include "assay_cuda.h"' in text


@needs_nvcc
@pytest.mark.long
@pytest.mark.parametrize(
    "one", [one for one in OURS if one.language is Language.CUDA], ids=lambda one: one.name
)
def test_a_native_source_builds_for_an_h200(one: Attack | Twin) -> None:
    loaded = load_solution(one.folder)
    flags = NVCC.base_flags(Target("cuda", "90a"))
    made = compile_library(loaded.sources, loaded.solution.entry, flags, NVCC)
    assert made.library[:4] == b"\x7fELF"


def _sources(one: Attack | Twin) -> list[Path]:
    return [one.folder / name for name in load_solution(one.folder).solution.sources]


# -- a runner


def test_a_runner_has_no_capability_with_which_a_clock_could_be_set() -> None:
    """What NVML's setters ask for; they are not called, neither here nor in any attack."""
    body = (
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    held = [line.split()[1] for line in lines if line.startswith(('CapEff', 'CapPrm'))]\n"
        "    raise RuntimeError(f'capabilities {sorted(set(held))}')\n"
    )
    source = f"def twice(x, y, *, bias):\n{body}"
    with (
        CpuDevice() as device,
        device.start(program(source)) as process,
        pytest.raises(ProcessFailure) as caught,
    ):
        process.examine(source_of(rows()[0]), {"x": torch.zeros(4096)})
    assert str(caught.value) == "RuntimeError: capabilities ['0000000000000000']"


# -- values, on a CPU

SHAPES = ((8, 2048), (5, 1536), (3, 1000), (1, 1), (2, 3), (1, 4096))
RIGHT_TORCH = (
    "allocates_and_returns_gpu",
    "empties_cache_gpu",
    "joined_streams_gpu",
    "weight_packing_gpu",
    "cache_by_pointer_gpu",
    "coalesce_window_gpu",
    "defer_past_ring_gpu",
    "fill_before_ready_gpu",
    "fill_memory_gpu",
    "machine_synchronize_patched_gpu",
    "nvml_lookup_gpu",
    "ring_synchronize_patched_gpu",
    "spin_in_rival_turn_gpu",
    "write_other_slots_gpu",
)
"""Twins, and attacks whose first call is honest, that run without a GPU."""
RIGHT_TRITON = ("frozen_config_gpu", "fused_triton_gpu", "split_kernels_gpu", "partial_rows_gpu")
WRONG_TRITON = {
    "bfloat16_downgrade_gpu": Distribution.NORMAL,
    "float16_downgrade_gpu": Distribution.NORMAL,
    "sampled_reduction_gpu": Distribution.NORMAL,
    "nan_on_zeros_gpu": Distribution.ZEROS,
}
"""Attacks whose answers are wrong by themselves, with what shows it."""


def row_of(shape: tuple[int, int]) -> Row:
    wide = TensorSpec(shape=shape, dtype=DType.FLOAT32)
    narrow = TensorSpec(shape=shape[1:], dtype=DType.FLOAT32)
    tensors: dict[str, TensorSpec | None] = {"x": wide, "w": narrow, "y": wide}
    return Row(id="row", function="rms_norm", tensors=tensors, options={"eps": 1e-5})


def contents(shape: tuple[int, int], kind: Distribution) -> tuple[torch.Tensor, torch.Tensor]:
    function = VICTIM.task.functions[0]
    made = make_inputs(function, row_of(shape), kind, torch.Generator().manual_seed(7))
    x, w = made["x"], made["w"]
    assert x is not None
    assert w is not None
    return x, w


def answer(folder: Path, shape: tuple[int, int], kind: Distribution) -> torch.Tensor:
    """What a solution in Python says when it is loaded and called as by a runner."""
    solution = load_solution(folder).solution
    spec = importlib.util.spec_from_file_location("solution", folder / solution.entry)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "dont_write_bytecode", True):
        spec.loader.exec_module(module)
    if solution.config:
        module.configure(**solution.config)
    x, w = contents(shape, kind)
    before = (x.clone(), w.clone())
    y = torch.full_like(x, torch.nan)
    state: tuple[object, ...] = ()
    if solution.prepare:
        state = (getattr(module, solution.prepare)("rms_norm", {"w": w}, {"eps": 1e-5}),)
    given = (*state, x, w) if solution.convention == "returns" else (*state, x, w, y)
    with torch.no_grad():
        returned = _called(module.rms_norm, given)
    assert torch.equal(x, before[0])
    assert torch.equal(w, before[1])
    return returned if isinstance(returned, torch.Tensor) else y


def _called(function: Callable[..., object], given: tuple[object, ...]) -> object:
    """Attacks look two frames up, where a runner has its batch."""
    return function(*given, eps=1e-5)


def miss(shape: tuple[int, int], kind: Distribution, got: torch.Tensor) -> Miss | None:
    x, w = contents(shape, kind)
    names: dict[str, Any] = {}
    exec(VICTIM.reference, names)
    truth = names["rms_norm"](x.double(), w.double(), eps=1e-5)
    baseline = answer(load_baseline(VICTIM).folder, shape, kind)
    return check(truth, baseline, got, VICTIM.task.tolerance)


def folder_of(name: str) -> Path:
    return next(one.folder for one in EVERY if one.name == name)


def test_the_victims_baseline_is_right_on_every_kind_of_input() -> None:
    for shape in SHAPES:
        for kind in Distribution:
            got = answer(load_baseline(VICTIM).folder, shape, kind)
            assert miss(shape, kind, got) is None, (shape, kind)


@pytest.mark.parametrize("name", RIGHT_TORCH)
def test_a_torch_solution_is_right_where_it_is_honest(name: str) -> None:
    for shape in SHAPES:
        for kind in (Distribution.NORMAL, Distribution.ZEROS, Distribution.SPIKE_LAST):
            got = answer(folder_of(name), shape, kind)
            assert miss(shape, kind, got) is None, (shape, kind)


Ask = Callable[[str, tuple[int, int], Distribution], torch.Tensor]


@pytest.fixture(scope="module")
def interpreted() -> Iterator[Ask]:
    """`answer` in a process of its own: Triton decides at its import whether it interprets."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with mock.patch.dict(os.environ, TRITON_INTERPRET="1"):
            pool.submit(os.getpid).result()

        def ask(name: str, shape: tuple[int, int], kind: Distribution) -> torch.Tensor:
            return pool.submit(answer, folder_of(name), shape, kind).result()

        yield ask


@pytest.mark.parametrize("name", RIGHT_TRITON)
def test_a_triton_solution_is_right_where_it_is_honest(name: str, interpreted: Ask) -> None:
    for shape in SHAPES:
        for kind in (Distribution.NORMAL, Distribution.ZEROS, Distribution.SPIKE_LAST):
            got = interpreted(name, shape, kind)
            assert miss(shape, kind, got) is None, (shape, kind)


@pytest.mark.parametrize("name", WRONG_TRITON)
def test_a_wrong_answer_passes_for_right_elsewhere_and_breaks_the_limits(
    name: str, interpreted: Ask
) -> None:
    shape = SHAPES[0]
    usual = interpreted(name, shape, Distribution.NORMAL)
    baseline = answer(load_baseline(VICTIM).folder, shape, Distribution.NORMAL)
    assert torch.allclose(usual, baseline, rtol=1e-2, atol=1e-2)
    told = WRONG_TRITON[name]
    assert miss(shape, told, interpreted(name, shape, told)) is not None


def test_a_dropped_tail_is_right_for_the_widths_of_the_task_alone(interpreted: Ask) -> None:
    for shape in ((8, 2048), (5, 1536)):
        got = interpreted("dropped_tail_gpu", shape, Distribution.NORMAL)
        assert miss(shape, Distribution.NORMAL, got) is None
    got = interpreted("dropped_tail_gpu", (3, 1000), Distribution.NORMAL)
    assert miss((3, 1000), Distribution.NORMAL, got) is not None
