"""Accounts of real kernels: what ran in the calls, what ran beside them, and whose it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.device import open_judging_device
from assay.device.runners import RunnerDevice
from assay.judge.ablation import Bench
from assay.judge.ablation import ablate
from assay.judge.accounts import conviction
from assay.judge.accounts import labels_of
from assay.judge.accounts import take_accounts
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.case import Contender
from assay.judge.oracle import Oracle
from assay.spec.account import DeviceAccount
from assay.spec.account import Origin
from assay.spec.account import Place
from assay.spec.solution import Language
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.gpu import needs_gpu
from tests.gpu import needs_nvcc
from tests.judge.test_sanitizer_gpu import SOURCE
from tests.judge.test_sanitizer_gpu import TRITON
from tests.judge.test_sanitizer_gpu import cuda

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> Iterator[RunnerDevice]:
    with open_judging_device("cuda") as opened:
        yield opened


def account(device: RunnerDevice, candidate: Contender) -> DeviceAccount:
    judged = case(candidate)
    flags = flags_for((candidate,), device.target)
    program = build(judged.task, candidate, flags, device.target).program
    return take_accounts(judged, device, program)


def triton(source: str) -> Contender:
    return contender(source, language=Language.TRITON.value)


def names(found: DeviceAccount, place: Place) -> set[str]:
    return {used.name for used in found.rows[0].kernels if used.place is place}


@needs_gpu
def test_a_triton_kernel_is_seen_once_a_call_and_is_its_own(device: RunnerDevice) -> None:
    found = account(device, triton(TRITON))
    assert labels_of(found) == []
    assert [
        (used.name, used.origin, used.place, used.launches_a_call) for used in found.rows[0].kernels
    ] == [("doubled", Origin.OWN, Place.INSIDE, 1.0)]
    assert found.own_share == 1.0
    assert 0 < found.rows[0].busy_us < found.rows[0].request_us
    assert conviction(found) is None


@needs_gpu
@needs_nvcc
def test_a_cuda_kernel_is_its_own(device: RunnerDevice) -> None:
    found = account(device, cuda(SOURCE))
    assert found.own_share == 1.0
    assert [used.name.split("(")[0] for used in found.rows[0].kernels] == ["planted"]
    assert conviction(found) is None


@needs_gpu
def test_torchs_kernels_are_a_librarys(device: RunnerDevice) -> None:
    found = account(device, contender(PLAIN))
    assert found.own_share == 0.0
    assert sum(used.launches_a_call for used in found.rows[0].kernels) == 2.0
    assert all("at::native" in name for name in found.library_kernels)
    assert conviction(found) is None


@needs_gpu
def test_streams_that_are_joined_and_a_graph_are_inside(device: RunnerDevice) -> None:
    joined = """
    import torch
    side = []
    def twice(x, y, *, bias):
        if not side:
            side.append(torch.cuda.Stream())
        here = torch.cuda.current_stream()
        side[0].wait_stream(here)
        with torch.cuda.stream(side[0]):
            torch.mul(x, 2, out=y)
        here.wait_stream(side[0])
        y.add_(bias)
    """
    found = account(device, contender(joined))
    assert labels_of(found) == []
    assert conviction(found) is None


@needs_gpu
def test_a_thread_that_launches_between_the_calls_is_convicted(device: RunnerDevice) -> None:
    threaded = """
    import threading
    import time
    import torch
    started = []
    def work(device):
        torch.cuda.set_device(device)
        scratch = torch.zeros(1 << 16, device=device)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(2000):
                scratch.neg_()
                time.sleep(0.001)
    def twice(x, y, *, bias):
        if not started:
            started.append(threading.Thread(target=work, args=(x.device,), daemon=True))
            started[0].start()
        torch.mul(x, 2, out=y)
        y.add_(bias)
    """
    found = account(device, contender(threaded))
    broken = conviction(found)
    assert broken is not None
    assert broken.violation is ViolationKind.FOREIGN_KERNEL
    assert any("neg" in name for name in names(found, Place.OUTSIDE))


@needs_gpu
def test_work_that_is_left_on_another_stream_is_late(device: RunnerDevice) -> None:
    late = """
    import torch
    side = []
    def twice(x, y, *, bias):
        if not side:
            side.append(torch.cuda.Stream())
        torch.mul(x, 2, out=y)
        y.add_(bias)
        with torch.cuda.stream(side[0]):
            torch.cuda._sleep(20_000_000)
    """
    found = account(device, contender(late))
    broken = conviction(found)
    assert broken is not None
    assert broken.violation is ViolationKind.FOREIGN_KERNEL
    assert len(names(found, Place.LATE)) == 1


DECOY = TRITON.replace(
    "def twice",
    """@triton.jit
def decoy(y):
    tl.store(y, 0.0)

def twice""",
).replace("    doubled[", "    decoy[1,](y)\n    doubled[")


@needs_gpu
def test_a_decoy_is_seen_to_run_and_found_not_to_be_needed(device: RunnerDevice) -> None:
    candidate = triton(DECOY)
    assert names(account(device, candidate), Place.INSIDE) == {"decoy", "doubled"}
    judged = case(candidate)
    with Oracle(device, judged) as oracle:
        baseline = build(judged.task, judged.baseline, (), device.target).program
        found = ablate(Bench(judged, device, oracle, baseline))
    assert [decoy.kernel for decoy in found.decoys] == ["decoy"]
    assert found.needed == 1


@needs_gpu
@needs_nvcc
def test_a_decoy_in_cuda_is_found_not_to_be_needed(device: RunnerDevice) -> None:
    source = SOURCE.replace(
        'extern "C"', '__global__ void decoy(float* y) { y[0] = 0; }\n\nextern "C"'
    ).replace(
        "    planted<<<", "    decoy<<<1, 1, 0, stream>>>((float*)t[1].data);\n    planted<<<"
    )
    judged = case(cuda(source))
    with Oracle(device, judged) as oracle:
        baseline = build(judged.task, judged.baseline, (), device.target).program
        found = ablate(Bench(judged, device, oracle, baseline))
    assert [decoy.kernel for decoy in found.decoys] == ["decoy"]
    assert found.needed == 1
