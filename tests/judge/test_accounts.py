"""Accounts from made-up events, and from real runners that have no device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from assay.device import open_judging_device
from assay.device.runners import RunnerDevice
from assay.device.runners import Target
from assay.device.runners.account import Event
from assay.device.runners.account import Taken
from assay.judge.accounts import CALLS
from assay.judge.accounts import attribute
from assay.judge.accounts import busy
from assay.judge.accounts import calls_of
from assay.judge.accounts import conviction
from assay.judge.accounts import labels_of
from assay.judge.accounts import row_account
from assay.judge.accounts import summed
from assay.judge.accounts import take_accounts
from assay.judge.afterwards import with_account
from assay.judge.kernel_names import bare
from assay.judge.kernel_names import defined_kernels
from assay.judge.kernel_names import is_own
from assay.judge.oracle import Oracle
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.spec.account import DeviceAccount
from assay.spec.account import Origin
from assay.spec.account import Place
from assay.spec.account import RowAccount
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.spec.verdict import TaskVerdict
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.device.cpu.making import program

MS = 1_000_000
MARKS = [Event("mark", f"assay call {n}", n * 10 * MS, n * 10 * MS + MS, 0, 7) for n in range(2)]


def launched(name: str, at: int, start: int, end: int, number: int, thread: int = 7) -> list[Event]:
    launch = Event("launch", "cudaLaunchKernel", at, at + 1000, number, thread)
    return [launch, Event("kernel", name, start, end, number, 13)]


def placed(*events: Event) -> list[tuple[str, Place]]:
    return [(one.event.name, one.place) for one in attribute([*MARKS, *events], 2)]


def account(*events: Event, nanoseconds: int = 100 * MS) -> RowAccount:
    taken = Taken((*MARKS, *events), nanoseconds)
    return row_account("n4096", taken, 2, frozenset({"scale"}))


def test_a_kernel_belongs_where_it_was_launched() -> None:
    early = launched("a", 100, 200, 300, 1)
    # Launched before the first call, and run inside of it.
    before = launched("b", 5 * MS, 10 * MS + 10, 10 * MS + 20, 2)
    # Launched inside, and a long time in the queue, but done with its call.
    queued = launched("c", 10 * MS + 5, 11 * MS - 9, 11 * MS, 3)
    assert placed(*early, *before, *queued) == [
        ("a", Place.INSIDE),
        ("b", Place.OUTSIDE),
        ("c", Place.INSIDE),
    ]


def test_kernels_of_one_graph_share_its_launch() -> None:
    launch = Event("launch", "cudaGraphLaunch", 100, 200, 4, 7)
    kernels = [Event("kernel", name, 300, 400, 4) for name in "ab"]
    assert placed(launch, *kernels) == [("a", Place.INSIDE), ("b", Place.INSIDE)]


def test_what_has_no_launch_on_record_belongs_where_it_ran() -> None:
    assert placed(
        Event("kernel", "a", 100, 200, 9),
        Event("memset", "b", 5 * MS, 5 * MS + 100),
        # By less than the clocks of host and device may be apart.
        Event("memcpy", "c", MS + 50_000, MS + 60_000),
    ) == [("a", Place.INSIDE), ("b", Place.OUTSIDE), ("c", Place.INSIDE)]


def test_what_runs_on_after_its_call_is_late() -> None:
    assert placed(*launched("a", 100, 200, MS + 99_000, 1)) == [("a", Place.INSIDE)]
    assert placed(*launched("a", 100, 200, MS + 101_000, 1)) == [("a", Place.LATE)]


def test_launches_of_another_thread_inside_a_call_are_counted_and_no_violation() -> None:
    found = account(*launched("scale", 100, 200, 300, 1, thread=8))
    assert found.launched_elsewhere == 1
    assert conviction(summed([found])) is None


@pytest.mark.parametrize(
    "marks",
    [
        [],
        MARKS[:1],
        [*MARKS, MARKS[1]],
        [MARKS[1], Event("mark", "assay call 0", 20 * MS, 21 * MS)],
        [Event("mark", "assay call 0", 0, 20 * MS), MARKS[1]],
    ],
)
def test_marks_that_were_tampered_with_make_no_account(marks: list[Event]) -> None:
    with pytest.raises(ValueError, match="mark"):
        calls_of(marks, 2)
    found = row_account("r", Taken((*marks, Event("kernel", "k", 1, 2)), 100 * MS), 2, frozenset())
    assert found.kernels == ()
    assert found.unseen is not None
    assert "do not hold together" in found.unseen


def test_busy_time_counts_what_overlaps_once() -> None:
    spans = [(0, 10), (5, 12), (6, 8), (20, 30)]
    assert busy(Event("kernel", "k", start, end) for start, end in spans) == 22
    assert busy([]) == 0


def test_an_account_has_launches_and_microseconds_a_call_and_whose_they_are() -> None:
    library = "void at::native::vectorized_elementwise_kernel<4, Fill<float> >(int, float)"
    found = account(
        *launched("scale", 100, 10_000, 16_000, 1),
        *launched("scale", 10 * MS, 10 * MS + 2000, 10 * MS + 4000, 2),
        *launched(library, 200, 20_000, 21_000, 3),
        Event("memset", "Memset (Device)", 30_000, 31_000),
    )
    assert [
        (used.name, used.origin, used.launches_a_call, used.us_a_call) for used in found.kernels
    ] == [
        ("scale", Origin.OWN, 1.0, 4.0),
        ("Memset (Device)", Origin.COPY, 0.5, 0.5),
        (library, Origin.LIBRARY, 0.5, 0.5),
    ]
    assert (found.device_us, found.busy_us, found.request_us) == (5.0, 10.0, 100_000.0)
    whole = summed([found, found])
    assert whole.own_share == pytest.approx(0.8)
    assert whole.library_kernels == (library,)
    assert conviction(whole) is None


def test_work_outside_calls_convicts() -> None:
    found = account(
        *launched("scale", 100, 200, 300, 1), *launched("helper", 5 * MS, 5 * MS, 6 * MS, 2)
    )
    broken = conviction(summed([found]))
    assert broken is not None
    assert broken.status is Status.VIOLATION
    assert broken.violation is ViolationKind.FOREIGN_KERNEL
    assert broken.reason == "helper ran when there was no call, 1 times beside 2 calls"
    late = conviction(summed([account(*launched("scale", 100, 200, 9 * MS, 1))]))
    assert late is not None
    assert late.reason == "scale ran on after its call, 1 times beside 2 calls"


def test_an_empty_account_is_nothing_seen_and_labelled() -> None:
    whole = summed([account()])
    assert whole.own_share is None
    assert conviction(whole) is None
    assert labels_of(whole) == ["device not accounted for: nothing was seen on the device"]
    verdict = TaskVerdict(task="a/b", verdict=Status.UNCLEAR, rows=())
    assert with_account(verdict, whole).labels == tuple(labels_of(whole))


def test_more_device_time_than_the_referees_clock_had_is_not_believed() -> None:
    found = account(*launched("scale", 100, 200, 2 * MS, 1), nanoseconds=MS)
    assert found.kernels == ()
    assert found.unseen is not None
    assert "referee's clock" in found.unseen


def test_events_that_were_left_out_make_no_account() -> None:
    taken = Taken((*MARKS, Event("kernel", "k", 1, 2)), 100 * MS, left_out=True)
    assert row_account("r", taken, 2, frozenset()).unseen is not None


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("_norm", "_norm"),
        ("void scale<float, (Mode)1>(float const*, int)", "scale"),
        ("void (anonymous namespace)::norm_held<float, 2>(Call<float>)", "norm_held"),
        ("std::enable_if<true, void>::type own::go<4>(int)", "own::go"),
        ("void at::native::(anonymous namespace)::reduce<512>(at::Op)", "at::native::reduce"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("", ""),
    ],
)
def test_a_demangled_name_is_stripped(name: str, short: str) -> None:
    assert bare(name) == short


def test_a_kernel_is_its_own_by_definition_or_because_no_library_has_it() -> None:
    sources = {
        "k.cu": b"template <typename T>\n__global__ void __launch_bounds__(kA == 1 ? f(2) : 3)\n"
        b"  held(const T* x) {}\nstatic __global__ void gemm_own(int n);\nvoid host(int n) {}",
        "k.py": b"@triton.jit\ndef triton_poi_mine(x):\n    pass\n",
    }
    defined = defined_kernels(sources)
    assert defined == {"held", "gemm_own", "triton_poi_mine"}
    own = ["void held<float>(float const*)", "gemm_own", "triton_poi_mine", "generated_7"]
    theirs = [
        "triton_poi_fused_mul_0",
        "void at::native::elementwise_kernel<128, 2>(int)",
        "void cutlass::Kernel2<cutlass_80_wmma>(Params)",
        "sm90_xmma_gemm_f32",
        "nvjet_tst_128x8_64x12",
        "void cub::DeviceReduceKernel<float>(float*)",
        "void gemv2T_kernel_val<int, float>(int)",
    ]
    assert [is_own(name, defined) for name in own] == [True] * 4
    assert [is_own(name, defined) for name in theirs] == [False] * 7


def test_a_hostile_source_is_searched_in_bounded_time() -> None:
    assert defined_kernels({"k.cu": b"__global__ a<" * 20_000}) == frozenset()


def taken_on_cpu(source: str) -> DeviceAccount:
    with open_judging_device("cpu") as device:
        return take_accounts(case(contender(source)), device, program(source))


def test_a_runner_answers_and_without_a_device_nothing_is_seen() -> None:
    whole = taken_on_cpu(PLAIN)
    assert [(row.row, row.calls, row.unseen) for row in whole.rows] == [
        ("n4096", CALLS, "nothing was seen on the device")
    ]


BLINDED = """
import json
import torch

def lie(self, path):
    with open(path, "w") as file:
        json.dump({"traceEvents": TOLD}, file)

torch.profiler.profile.export_chrome_trace = lie

def twice(x, y, *, bias):
    torch.mul(x, 2, out=y)
    y.add_(bias)
"""


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("[]", "its events do not hold together: 0 calls are marked, not 4 in their order"),
        ("3", "its process failed under the profiler: TypeError: 'int' object is not iterable"),
        (
            '[{"ph": "X", "cat": "kernel", "name": "k", "ts": -5.0, "dur": 1.0}]',
            "its account is an event that ends before it begins, or has no name",
        ),
    ],
)
def test_a_solution_that_blinds_the_profiler_is_not_acquitted(told: str, reason: str) -> None:
    whole = taken_on_cpu(BLINDED.replace("TOLD", told))
    assert [row.unseen for row in whole.rows] == [reason]
    assert labels_of(whole) == [f"device not accounted for: {reason}"]


def test_a_solution_that_ends_under_the_profiler_is_not_judged_for_it() -> None:
    source = f"{PLAIN}import os\ntorch.profiler.profile = lambda **_: os._exit(3)\n"
    whole = taken_on_cpu(source)
    assert whole.rows[0].unseen == (
        "its process failed under the profiler: its process exited with status 3"
    )
    assert conviction(whole) is None


@pytest.mark.parametrize(
    ("kind", "status", "asked"),
    [("cuda", Status.FASTER, True), ("cuda", Status.SAME, False), ("cpu", Status.SAME, False)],
)
def test_a_gain_of_a_convicted_candidate_is_a_violation(
    kind: str, status: Status, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    guilty = summed([account(*launched("helper", 5 * MS, 5 * MS, 6 * MS, 1))])
    monkeypatch.setattr("assay.judge.referee.take_accounts", lambda *_: guilty)
    referee = Referee(case(contender(PLAIN)))
    referee._programs = {"candidate": program(PLAIN)}
    timed = Judgement(TaskVerdict(task="test/twice", verdict=status, rows=()))
    device = SimpleNamespace(target=Target(kind))
    ended = referee._looked_into(timed, cast("RunnerDevice", device), cast("Oracle", None))
    if not asked:  # nothing is claimed, and nobody asks
        assert ended.verdict == timed.verdict
        return
    assert ended.verdict.verdict is Status.VIOLATION
    assert ended.verdict.rows[0].violation is ViolationKind.FOREIGN_KERNEL
    assert ended.verdict.account == guilty
