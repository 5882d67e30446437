"""What a runner reports of a trace, and what the referee takes from a report."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.device.runners.account import CallState
from assay.device.runners.account import Event
from assay.device.runners.account import events_of
from assay.device.runners.account import state_of
from assay.judge.accounts import attribute
from assay.runner import account
from assay.runner import state
from assay.spec.account import Place


def event(category: str, name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    """As it stands in a trace, in microseconds."""
    thread = args.pop("tid", 7)
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "ts": start,
        "dur": length,
        "pid": 1,
        "tid": thread,
        "args": args,
    }


TRACE = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {}},
        event("user_annotation", "assay call 0", 10.5, 20.0),
        event("user_annotation", "somebody's own", 11.0, 5.0),
        event("cpu_op", "aten::add", 11.0, 5.0),
        event("cuda_runtime", "cudaLaunchKernel", 12.0, 1.0, correlation=3),
        event("cuda_runtime", "cudaStreamSynchronize", 13.0, 9.0, correlation=4),
        event("cuda_driver", "cuLaunchKernelEx", 14.0, 1.0, correlation=5, tid=8),
        event("kernel", "scale", 15.25, 2.5, correlation=3, tid=13),
        event("kernel", "scale", 18.0, 2.0, correlation=5, tid=13),
        event("gpu_memcpy", "Memcpy DtoD", 21.0, 1.0, tid=13),
    ]
}


def test_a_report_has_marks_launches_and_what_they_launched_and_nothing_else() -> None:
    told = account.records(TRACE)
    assert told["names"] == [
        "assay call 0",
        "cudaLaunchKernel",
        "cuLaunchKernelEx",
        "scale",
        "Memcpy DtoD",
    ]
    assert told["events"] == [
        ["mark", 0, 10500, 30500, 0, 7],
        ["launch", 1, 12000, 13000, 3, 7],
        ["launch", 2, 14000, 15000, 5, 8],
        ["kernel", 3, 15250, 17750, 3, 13],
        ["kernel", 3, 18000, 20000, 5, 13],
        ["memcpy", 4, 21000, 22000, 0, 13],
    ]
    assert told["left_out"] == 0
    assert events_of(told)[3] == Event("kernel", "scale", 15250, 17750, 3, 13)


def test_more_events_than_are_passed_on_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "MOST_EVENTS", 2)
    told = account.records(TRACE)
    assert (len(told["events"]), told["left_out"]) == (2, 4)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"names": "scale", "events": []},
        {"names": [], "events": 3},
        {"names": ["a"], "events": [["kernel", 0, 1, 2, 3]]},
        {"names": ["a"], "events": [["verdict", 0, 1, 2, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 1, 1, 2, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 0, 2, 1, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 0, -1, 1, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 0, 1.5, 2, 3, 4]]},
        {"names": ["a"], "events": [["kernel", True, 1, 2, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 0, 1, 2**63, 3, 4]]},
        {"names": ["a"], "events": [[["kernel"], 0, 1, 2, 3, 4]]},
        {"names": ["a"], "events": [["kernel", 0, 1, 2, 3, 4]] * 50_001},
    ],
)
def test_a_reply_that_is_none_is_refused(reply: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"list|event"):
        events_of(reply)


def test_a_name_is_made_fit_for_one_line() -> None:
    told = {
        "names": ["a\x1b[31m\nb" + "c" * 999, "\n"],
        "events": [["kernel", i, 1, 2, 0, 0] for i in (0, 1)],
    }
    first, second = events_of(told)
    assert first.name.startswith("a [31m bccc")
    assert len(first.name) == 300
    assert second.name == "nameless"


def test_torchs_own_profiler_tells_work_in_calls_from_work_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a CPU operators stand in for kernels; between the calls somebody else works.
    monkeypatch.setitem(account.KINDS, "cpu_op", account.KERNEL)
    monkeypatch.setattr(account, "_idle", lambda device: torch.ones(4).neg_())
    monkeypatch.setattr("assay.judge.accounts.LATE_NS", 0)
    y = torch.zeros(8)
    told = account.take(
        [lambda: y.add_(1), lambda: y.mul_(2)], lambda: None, tmp_path, device=False
    )
    placed = attribute(events_of(told), 2)
    names = {place: {one.event.name for one in placed if one.place is place} for place in Place}
    assert {"aten::add_", "aten::mul_"} <= names[Place.INSIDE]
    assert {"aten::ones", "aten::neg_"} <= names[Place.OUTSIDE]
    assert names[Place.LATE] == set()
    assert y.tolist() == [2.0] * 8
    assert list(tmp_path.iterdir()) == []


def test_a_call_that_raises_under_the_profiler_raises(tmp_path: Path) -> None:
    def call() -> None:
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError):
        account.take([call], lambda: None, tmp_path, device=False)
    assert threading.active_count() >= 1
    told = account.take([lambda: None], lambda: None, tmp_path, device=False)
    assert told["names"] == ["assay call 0"]


def test_operators_are_told_where_there_is_no_device() -> None:
    told = account.records(TRACE, operators=True)
    assert ["operator", 1, 11000, 16000, 0, 7] in told["events"]
    assert told["names"][1] == "aten::add"


SETTINGS = {
    "gradients": False,
    "default_dtype": "float\x1b32",
    "autocast": False,
    "default_stream": None,
}


def test_settings_are_read_as_what_a_stranger_says() -> None:
    assert state_of(SETTINGS) == CallState(False, "float 32", False, None)
    assert state_of({**SETTINGS, "default_stream": True}) == CallState(
        False, "float 32", False, True
    )
    for told in (None, 3, {}, {**SETTINGS, "gradients": "no"}, {**SETTINGS, "autocast": 1}):
        assert state_of(told) is None


def test_settings_are_those_of_the_thread_that_calls() -> None:
    with torch.enable_grad():
        assert state.now(device=False)["gradients"] is True
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert state.now(device=False) == {
            "gradients": False,
            "default_dtype": "float32",
            "autocast": True,
            "default_stream": None,
        }
