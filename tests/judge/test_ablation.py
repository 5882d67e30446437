"""Kernels that are left out, through real builds and real exams."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from assay.device import open_judging_device
from assay.device.runners import RunnerDevice
from assay.device.runners import Target
from assay.judge.ablation import Bench
from assay.judge.ablation import ablate
from assay.judge.ablation import suspects_of
from assay.judge.ablation import variant
from assay.judge.afterwards import with_ablation
from assay.judge.afterwards import with_account
from assay.judge.build import build
from assay.judge.build import compiler
from assay.judge.build import flags_for
from assay.judge.bundle_verify import open_bundle
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.oracle import Oracle
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.redteam.find import find_attack
from assay.redteam.find import shipped_twins
from assay.redteam.trial import victim_of
from assay.spec.ablation import Ablation
from assay.spec.ablation import Decoy
from assay.spec.account import DeviceAccount
from assay.spec.account import RowAccount
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.task import find_solution
from assay.task import load_baseline
from assay.task import load_task
from assay.task.bundle import make_bundle
from assay.task.judging import make_case
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.device.cpu.making import program
from tests.device.cpu.making import task
from tests.gpu import needs_nvcc
from tests.judge.claims import TASK
from tests.judge.claims import judged
from tests.judge.claims import stored
from tests.judge.test_sanitizer_gpu import cuda

needs_compiler = pytest.mark.skipif(compiler(Target("cpu")) is None, reason="needs a C++ compiler")

Ablate = Callable[[Contender | Case], Ablation]


@pytest.fixture(scope="module")
def ablated() -> Iterator[Ablate]:
    """An ablation alone, of a candidate that nobody has timed."""
    with open_judging_device("cpu") as device:

        def run(candidate: Contender | Case) -> Ablation:
            about = candidate if isinstance(candidate, Case) else case(candidate)
            flags = flags_for((about.baseline, about.candidate), device.target)
            with Oracle(device, about) as oracle:
                baseline = build(about.task, about.baseline, flags, device.target).program
                return ablate(Bench(about, device, oracle, baseline))

        yield run


def shown(ablation: Ablation) -> list[tuple[str, str]]:
    return [(decoy.kernel, decoy.where) for decoy in ablation.decoys]


PYTHON = """
import torch

def fill(y):
    y.zero_()

def double(x, y):
    torch.mul(x, 2, out=y)

def add(y, bias):
    y.add_(bias)

def twice(x, y, *, bias):
    fill(y)
    double(x, y)
    add(y, bias)
"""


def test_a_function_that_no_answer_needs_is_a_decoy_and_its_neighbours_are_not(
    ablated: Ablate,
) -> None:
    ablation = ablated(contender(PYTHON))
    assert shown(ablation) == [("fill", "kernel.py:14")]
    assert (ablation.kernels, ablation.tried, ablation.needed) == (3, 3, 2)
    assert (ablation.not_reached, ablation.not_built) == (0, 0)
    assert ablation.seconds > 0


def test_two_functions_that_are_both_needed_are_no_decoys(ablated: Ablate) -> None:
    assert shown(ablated(contender(PYTHON.replace("    fill(y)\n", "")))) == []


def test_a_function_in_a_loop_and_behind_an_if_is_left_out_as_well(ablated: Ablate) -> None:
    source = PYTHON.replace(
        "    fill(y)\n", "    for _ in range(3):\n        if x.shape[0] > 0: fill(y)\n"
    )
    assert shown(ablated(contender(source))) == [("fill", "kernel.py:15")]


def test_what_only_other_rows_need_is_needed(ablated: Ablate) -> None:
    # The frozen row has 4096 elements; hidden ones are odd too.
    source = """
    import torch

    def tail(x, y, done, bias):
        y[done:] = 2 * x[done:] + bias

    def twice(x, y, *, bias):
        done = x.shape[0] // 8 * 8
        torch.mul(x[:done], 2, out=y[:done])
        y[:done].add_(bias)
        tail(x, y, done, bias)
    """
    assert ablated(contender(source)).needed == 1


def test_what_is_never_reached_is_not_called_a_decoy(ablated: Ablate) -> None:
    source = PYTHON.replace("    fill(y)\n", "    if x.shape[0] > 10**6: fill(y)\n")
    ablation = ablated(contender(source))
    assert (ablation.decoys, ablation.not_reached, ablation.needed) == ((), 1, 2)


def test_a_result_that_is_put_into_one_element_for_show_is_a_decoy(ablated: Ablate) -> None:
    source = PYTHON.replace("    fill(y)\n", "").rstrip() + "\n    y[0] = shown(x, bias)\n"
    source += "\ndef shown(x, bias):\n    return 2 * float(x[0]) + bias\n"
    assert shown(ablated(contender(source))) == [("shown", "kernel.py:16")]


def test_a_kernel_that_is_needed_at_one_place_is_needed(ablated: Ablate) -> None:
    # A tuner calls what it tunes for the clock's sake alone.
    source = PYTHON.replace("    fill(y)\n", "    double(x, y)\n")
    assert ablated(contender(source)).needed == 2


CPP = """
    #include "assay.h"

    static void warm(float* y, int64_t n, int64_t step) {
        for (int64_t i = 0; i < n; ++i) y[i * step] = 0;
    }

    template <typename T>
    static void apply(const T* x, T* y, int64_t n, int64_t a, int64_t b, T bias) {
        for (int64_t i = 0; i < n; ++i) y[i * b] = 2 * x[i * a] + bias;
    }

    extern "C" int twice(const assay_tensor* t, const double* options, void*) {
        float* y = (float*)t[1].data;
        const int64_t n = t[0].shape[0], a = t[0].strides[0], b = t[1].strides[0];
        if (n > 0) warm(y, n, b);
        apply<float>((const float*)t[0].data, y, n, a, b, (float)options[0]);
        return 0;
    }
"""


@needs_compiler
def test_a_decoy_in_cpp_is_found_and_its_honest_twin_is_clean(ablated: Ablate) -> None:
    assert shown(ablated(contender(CPP, language="cpp"))) == [("warm", "kernel.cpp:16")]
    honest = ablated(contender(CPP.replace("if (n > 0) warm(y, n, b);", ""), language="cpp"))
    assert (honest.kernels, honest.needed, honest.decoys) == (1, 1, ())


@needs_compiler
def test_what_does_not_build_without_a_call_says_nothing(ablated: Ablate) -> None:
    source = CPP.replace("static void warm", "static int warm").replace(
        "y[i * step] = 0;\n", "y[i * step] = 0;\n        return 1;\n"
    )
    source = source.replace("if (n > 0) warm(", "const float got = (float)warm(")
    source = source.replace("return 0;", "return got > 2;")
    ablation = ablated(contender(source, language="cpp"))
    assert (ablation.not_built, ablation.needed, ablation.decoys) == (1, 1, ())


TRITON = """
import triton
import triton.language as tl

@triton.jit
def decoy(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, i.to(tl.float32), mask=i < 1)

@triton.jit
def double(x, dx, y, dy, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * dy, 2 * tl.load(x + i * dx, mask=i < n), mask=i < n)

@triton.jit
def add(y, dy, n, bias, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * dy, tl.load(y + i * dy, mask=i < n) + bias, mask=i < n)

def twice(x, y, *, bias):
    n = x.shape[0]
    grid = (triton.cdiv(n, 4096),)
    decoy[(1,)](y, n, BLOCK=16)
    double[grid](x, x.stride(0), y, y.stride(0), n, BLOCK=4096)
    add[grid](y, y.stride(0), n, bias, BLOCK=4096)
"""


def test_a_triton_kernel_that_is_not_needed_is_a_decoy_of_a_judged_solution() -> None:
    pytest.importorskip("triton")
    verdict = Referee(case(contender(TRITON, language="triton")), ablation=True).judge().verdict
    assert verdict.verdict is Status.UNCLEAR  # Triton's interpreter has no speed
    assert verdict.ablation is not None
    assert [decoy.kernel for decoy in verdict.ablation.decoys] == ["decoy"]
    assert (verdict.ablation.needed, verdict.ablation.tried) == (2, 3)
    assert "decoy kernel: decoy" in verdict.labels


def test_two_triton_kernels_that_are_both_needed_are_no_decoys(ablated: Ablate) -> None:
    pytest.importorskip("triton")
    source = TRITON.replace("    decoy[(1,)](y, n, BLOCK=16)\n", "")
    assert shown(ablated(contender(source, language="triton"))) == []


def on_the_victim(folder: Path) -> Case:
    victim = load_task(victim_of("cpu"))
    candidate = find_solution(victim, folder)
    return make_case(victim, candidate, load_baseline(victim), unadmitted=True)


@pytest.mark.long
@needs_compiler
def test_the_shipped_decoy_is_found_and_no_honest_twin_has_one(ablated: Ablate) -> None:
    decoy = find_attack("decoy_kernel")
    assert [name for name, _ in shown(ablated(on_the_victim(decoy.folder)))] == ["_kernel"]
    honest = [twin for twin in shipped_twins() if "cpu" in twin.file.devices]
    assert len(honest) > 20
    for twin in honest:
        assert shown(ablated(on_the_victim(twin.folder))) == [], twin.name


def test_only_so_many_kernels_are_tried(ablated: Ablate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.judge.ablation.MOST_KERNELS", 1)
    ablation = ablated(contender(PYTHON))
    assert (ablation.kernels, ablation.tried) == (3, 1)
    monkeypatch.setattr("assay.judge.ablation.MOST_SECONDS", -1.0)
    assert ablated(contender(PYTHON)).tried == 0


def test_nobody_asks_and_nothing_is_left_out_of_what_is_not_faster() -> None:
    broken = contender(PYTHON.replace("    add(y, bias)\n", ""))
    verdict = Referee(case(broken), ablation=True).judge().verdict
    assert verdict.verdict is Status.WRONG_VALUE
    assert verdict.ablation is None


@pytest.mark.parametrize(
    ("status", "tried"), [(Status.FASTER, 1), (Status.SAME, 0), (Status.SLOWER, 0)]
)
def test_an_ablation_is_made_of_a_gain(
    status: Status, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.judge.referee.ablate", lambda _: Ablation(kernels=1, tried=1))
    referee = Referee(case(contender(PYTHON)))
    referee._programs = {"baseline": program(PLAIN)}
    timed = Judgement(TaskVerdict(task="test/twice", verdict=status, rows=()))
    device = SimpleNamespace(target=Target("cpu"))
    ended = referee._looked_into(timed, cast("RunnerDevice", device), cast("Oracle", None))
    assert (ended.verdict.ablation.tried if ended.verdict.ablation else 0) == tried


def test_a_decoy_is_a_label_and_no_refusal() -> None:
    verdict = TaskVerdict(task="a/b", verdict=Status.UNCLEAR, rows=(), labels=("old",))
    decoy = Decoy(kernel="warm", where="k.cpp:3")
    labelled = with_ablation(verdict, Ablation(kernels=2, tried=2, needed=1, decoys=(decoy,)))
    assert labelled.verdict is Status.UNCLEAR
    assert labelled.labels == ("old", "decoy kernel: warm")


def test_what_was_looked_into_is_in_a_bundle_that_verifies(tmp_path: Path) -> None:
    judgement = judged(load_task(TASK))
    decoy = Decoy(kernel="warm", where="k.cpp:3")
    ablation = Ablation(kernels=2, tried=2, needed=1, decoys=(decoy,), seconds=1.5)
    account = DeviceAccount(rows=(RowAccount(row="r", calls=4, unseen="nothing was seen"),))
    verdict = with_account(with_ablation(judgement.verdict, ablation), account)
    ledger, row = stored(tmp_path / "ledger", replace(judgement, verdict=verdict))
    make_bundle(ledger, row.id, tmp_path / "x.assay")
    claim = open_bundle(tmp_path / "x.assay").claim
    assert claim.ablation == ablation
    assert claim.account == account
    assert claim.labels[-2:] == (
        "decoy kernel: warm",
        "device not accounted for: nothing was seen",
    )


CUDA = """
#include "assay_cuda.h"

__global__ void decoy(float* y) { y[0] = 0; }

template <int kTwo>
__global__ void scale(const float* x, int64_t a, float* y, int64_t b, int64_t n, float bias) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i * b] = kTwo * x[i * a] + bias;
}

static void helped(void (*kernel)(float*), float* y, cudaStream_t stream) {
    kernel<<<1, 1, 0, stream>>>(y);
}

extern "C" int twice(const assay_tensor* t, const double* options, void*, cudaStream_t stream) {
    const int64_t n = t[0].shape[0];
    float* y = (float*)t[1].data;
    if (n > 8) decoy<<<1, 1, 0, stream>>>(y);
    else helped(decoy, y, stream);
    cudaLaunchConfig_t config = {};
    config.gridDim = (unsigned)assay_ceil_div(n, 256);
    config.blockDim = 256;
    config.stream = stream;
    return (int)cudaLaunchKernelEx(&config, scale<2>, (const float*)t[0].data, t[0].strides[0], y,
                                   t[1].strides[0], n, (float)options[0]);
}
"""


@needs_nvcc
@pytest.mark.long
def test_nvcc_takes_the_sources_without_a_launch_and_with_a_trap() -> None:
    candidate = cuda(CUDA)
    target = Target("cuda", "90a")
    flags = flags_for((candidate,), target)
    found = suspects_of(candidate)
    assert [(one.kernel, len(one.sites)) for one in found] == [
        ("kernel", 1),
        ("decoy", 1),
        ("scale", 1),
        ("helped", 1),
    ]
    for suspect in found:
        for sources in (
            suspect.left_out(candidate.sources),
            suspect.trapped(candidate.sources),
        ):
            assert build(task(), variant(candidate, sources), flags, target).program.files
