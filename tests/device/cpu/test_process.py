"""Real runners, honest and bad. What each bad one does, and what it is called."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.device.runners import RunnerProcess
from assay.spec.lane import Lane
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of

ROW = rows()[0]
BODY = "    torch.mul(x, 2, out=y)\n    y.add_(bias)\n"


def examined(device: CpuDevice, source: str, **more: str) -> RunnerProcess:
    process = device.start(program(source, **more))
    with process:
        process.examine(source_of(ROW), {"x": torch.randn(4096)})
    return process


def timed(device: CpuDevice, source: str, batches: int = 6) -> list[int]:
    with device.start(program(source)) as process:
        return [process.time("n4096", Lane.THROUGHPUT, 20, 2).nanoseconds for _ in range(batches)]


def failure_of(device: CpuDevice, source: str) -> ProcessFailure:
    with pytest.raises(ProcessFailure) as caught:
        examined(device, source)
    return caught.value


def test_an_honest_solution_gives_its_answer_twice(device: CpuDevice) -> None:
    content = torch.arange(4096, dtype=torch.float32)
    with device.start(program(PLAIN)) as process:
        exam = process.examine(source_of(ROW), {"x": content})
    assert torch.equal(exam.first["y"], 2 * content + 0.5)
    assert torch.equal(exam.outputs[1]["y"], exam.first["y"])


def test_a_batch_of_an_honest_solution_is_timed(device: CpuDevice) -> None:
    assert all(nanoseconds > 0 for nanoseconds in timed(device, PLAIN))


def test_a_solution_that_returns_is_checked_and_copied(device: CpuDevice) -> None:
    source = "def twice(x, *, bias):\n    return 2 * x + bias\n"
    with device.start(program(source, convention="returns")) as process:
        exam = process.examine(source_of(ROW), {"x": torch.ones(4096)})
    assert exam.first["y"].tolist() == [2.5] * 4096


def test_a_prepared_state_is_passed_first(device: CpuDevice) -> None:
    source = (
        "import torch\ndef pack(name, constants, options):\n    return {'two': 2.0, **options}\n"
        "def twice(state, x, y, *, bias):\n"
        "    torch.mul(x, state['two'], out=y)\n    y.add_(state['bias'])\n"
    )
    with device.start(program(source, prepare="pack")) as process:
        exam = process.examine(source_of(ROW), {"x": torch.ones(4096)})
        assert process.prepare_nanoseconds("n4096") > 0
    assert exam.first["y"].tolist() == [2.5] * 4096


@pytest.mark.parametrize(
    ("returned", "status", "said"),
    [
        ("x[:-1]", Status.WRONG_SHAPE, "returned [4095], not [4096]"),
        ("(x, x)", Status.WRONG_SHAPE, "returned 2 tensors, not 1"),
        ("3.0", Status.WRONG_SHAPE, "returned a float, not a tensor"),
        ("x.double()", Status.WRONG_DTYPE, "returned torch.float64, not torch.float32"),
        ("x.to('meta')", Status.WRONG_DEVICE, "returned on meta, not cpu"),
        ("x[:1].expand(4096)", Status.WRONG_STRIDE, "returned strides (0,), not (1,)"),
    ],
)
def test_a_returned_tensor_of_the_wrong_kind_is_named(
    device: CpuDevice, returned: str, status: Status, said: str
) -> None:
    source = f"def twice(x, *, bias):\n    return {returned}\n"
    with pytest.raises(ProcessFailure) as caught:
        examined(device, source, convention="returns")
    assert (caught.value.status, str(caught.value)) == (status, said)


@pytest.mark.parametrize(
    ("source", "status", "said"),
    [
        ("import nothing_of_that_name\n", Status.IMPORT_ERROR, "No module named"),
        ("def twice(:\n", Status.IMPORT_ERROR, "SyntaxError"),
        ("x = 1\n", Status.CRASH, "has no attribute 'twice'"),
        ("def twice(x, y, *, bias):\n    raise RuntimeError('no')\n", Status.CRASH, "no"),
        ("import sys\ndef twice(x, y, *, bias):\n    sys.exit(0)\n", Status.CRASH, "SystemExit"),
        ("import os\ndef twice(x, y, *, bias):\n    os._exit(0)\n", Status.CRASH, "status 0"),
        ("import os\ndef twice(x, y, *, bias):\n    os.abort()\n", Status.CRASH, "killed by"),
        (
            "import ctypes\ndef twice(x, y, *, bias):\n    ctypes.string_at(0)\n",
            Status.CRASH,
            "killed by SIGSEGV",
        ),
        (
            "import torch\ndef twice(x, y, *, bias):\n    torch.ones(1 << 40)\n",
            Status.OUT_OF_MEMORY,
            "memory: you tried to allocate",
        ),
        (
            "def twice(x, y, *, bias):\n    a = bytearray(1 << 42)\n",
            Status.OUT_OF_MEMORY,
            "MemoryError",
        ),
        ("import os\nos._exit(3)\n", Status.CRASH, "exited with status 3"),
    ],
)
def test_each_way_to_fail_has_its_status_and_one_line(
    device: CpuDevice, source: str, status: Status, said: str
) -> None:
    failure = failure_of(device, source)
    assert failure.status is status
    assert said in str(failure)
    assert "\n" not in str(failure)
    # The next job is not affected.
    examined(device, PLAIN)


def test_a_solution_that_hangs_is_ended(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.device.runners.process.CALL_SECONDS", 1.0)
    failure = failure_of(device, "def twice(x, y, *, bias):\n    while True: pass\n")
    assert failure.status is Status.TIMEOUT
    assert str(failure) == "no answer within 1 s"
    examined(device, PLAIN)


def test_what_a_solution_prints_goes_nowhere(
    device: CpuDevice, capfd: pytest.CaptureFixture[str]
) -> None:
    examined(
        device,
        "import torch, sys, os\ndef twice(x, y, *, bias):\n"
        "    print('FASTER'); sys.stderr.write('FASTER'); os.write(1, b'FASTER')\n" + BODY,
    )
    assert capfd.readouterr() == ("", "")


def test_an_input_that_is_written_is_a_violation(device: CpuDevice) -> None:
    failure = failure_of(
        device, "import torch\ndef twice(x, y, *, bias):\n" + BODY + "    x[7] = 0\n"
    )
    assert failure.violation is ViolationKind.INPUT_WRITTEN
    assert str(failure) == "it changed its input x"


def test_a_write_beside_an_output_is_a_violation(device: CpuDevice) -> None:
    failure = failure_of(
        device,
        "import torch, ctypes\ndef twice(x, y, *, bias):\n"
        + BODY
        + "    ctypes.memset(y.data_ptr() + 4096 * 4, 0, 1)\n"
        + "    ctypes.memset(y.data_ptr() + 4096 * 4 + 1, 7, 1)\n",
    )
    assert failure.violation is ViolationKind.SLOT_WRITTEN
    assert str(failure) == "it wrote beside argument y"


def test_a_call_that_does_nothing_is_found_at_the_ring(device: CpuDevice) -> None:
    with pytest.raises(ProcessFailure) as caught:
        timed(device, "def twice(x, y, *, bias):\n    pass\n")
    assert caught.value.violation is ViolationKind.EARLY_RING


def test_work_that_is_put_off_is_found_at_the_ring(device: CpuDevice) -> None:
    source = (
        "import torch, threading, time\n"
        "def later(x, y, bias):\n    time.sleep(0.2)\n" + BODY + "def twice(x, y, *, bias):\n"
        "    threading.Thread(target=later, args=(x, y, bias), daemon=True).start()\n"
    )
    with pytest.raises(ProcessFailure) as caught:
        timed(device, source)
    assert caught.value.violation is ViolationKind.EARLY_RING


def test_writing_a_slot_that_was_not_given_is_found(device: CpuDevice) -> None:
    # Slots are equally far apart; this one also does the work of the next one.
    source = (
        "import torch, ctypes\nseen = []\ndef twice(x, y, *, bias):\n"
        + BODY
        + "    seen.append(y.data_ptr())\n"
        "    if len(seen) > 4:\n"
        "        step = min(abs(a - b) for a in seen for b in seen if a != b)\n"
        "        for k in range(-30, 30):\n"
        "            ctypes.memset(y.data_ptr() + k * step, 1, 16) if k else None\n"
    )
    with pytest.raises(ProcessFailure) as caught:
        timed(device, source, batches=20)
    assert caught.value.status in {Status.VIOLATION, Status.CRASH}


def test_timed_calls_are_kept_by_lot_with_the_inputs_that_they_had(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.device.runners.process._KEPT_SHARE", 1.0)
    with device.start(program(PLAIN)) as process:
        for _ in range(3):
            process.time("n4096", Lane.THROUGHPUT, 10, 2)
        kept = list(process.kept)
    assert len(kept) == 3
    for call in kept:
        content = call.inputs["x"]
        assert content is not None
        assert torch.equal(call.outputs["y"], 2 * content + 0.5)
    # New content every time.
    first, second = kept[0].inputs["x"], kept[1].inputs["x"]
    assert first is not None
    assert second is not None
    assert not torch.equal(first, second)


def test_runners_see_an_empty_world(device: CpuDevice) -> None:
    process = device.start(program(PLAIN))
    with process:
        if not all(process.runner.held.values()):
            pytest.skip(f"this kernel grants only {process.runner.held}")
    source = (
        "import os, socket, sys, torch\n"
        "own = ('/tmp/assay-', *(p for p in (sys.prefix, *sys.path) if p.startswith('/tmp/')))\n"
        "seen = [n for n in os.listdir('/tmp')\n"
        "        if not any(p.startswith(f'/tmp/{n}') or f'/tmp/{n}'.startswith(p) for p in own)]\n"
        "assert not seen, seen\n"
        "assert os.getpid() == 1\n"
        "assert [p for p in os.listdir('/proc') if p.isdigit()] == ['1']\n"
        "try:\n    socket.create_connection(('192.0.2.1', 80), timeout=1)\n"
        "except OSError as e:\n    assert e.errno in (101, 100, 1), e\n"
        "else:\n    raise AssertionError('a network')\n"
        "assert len(os.listdir('/proc/self/fd')) < 12\n"
        "assert 'ASSAY_SECRET' not in os.environ\n"
        "def twice(x, y, *, bias):\n" + BODY
    )
    examined(device, source)


def test_nothing_outlives_a_runner(device: CpuDevice) -> None:
    source = (
        "import os, time, torch\n"
        "open('/dev/shm/assay_left', 'w').write('x')\nopen('/tmp/assay_left', 'w').write('x')\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n"
        "    os._exit(0)\n"
        "def twice(x, y, *, bias):\n" + BODY
    )
    assert device._zygote is not None
    zygote = device._zygote._process.pid
    before = _descendants(zygote)
    process = device.start(program(source))
    with process:
        isolated = all(process.runner.held.values())
        process.examine(source_of(ROW), {"x": torch.randn(4096)})
        # Keeper, runner, and the daemon that it forked; its first child may not have ended yet.
        assert len(_descendants(zygote) - before) >= 3
    # The keeper closes its socket in ending, a moment before the kernel has done with it.
    deadline = time.monotonic() + 2.0
    while (left := _descendants(zygote) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left == set()
    if isolated:
        assert not Path("/dev/shm/assay_left").exists()
        assert not Path("/tmp/assay_left").exists()


def _descendants(root: int) -> set[int]:
    """Every process below one, as the kernel has it now."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    found = {root}
    while new := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= new
    return found - {root}
