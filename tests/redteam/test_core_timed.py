"""What is done around timed batches: calls that are kept, and content that is new."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.spec.defences import Defences
from assay.spec.lane import Lane
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of

# It remembers what it saw at an address, and gives itself away when that comes again.
REMEMBERS = (
    "import torch\nseen = {}\ndef twice(x, y, *, bias):\n"
    "    key = (float(x[0]), float(x[-1]))\n"
    "    known = seen.get(x.data_ptr()) == key\n    seen[x.data_ptr()] = key\n"
    "    torch.mul(x, 2, out=y)\n    y.add_(bias)\n"
    "    if known:\n        y.fill_(7.0)\n"
)


@pytest.fixture
def device() -> Iterator[CpuDevice]:
    with CpuDevice() as opened:
        opened.rows = {row.id: source_of(row) for row in rows()}
        yield opened


def test_one_call_at_least_is_put_by_and_given_out_once(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.device.runners.process._KEPT_SHARE", 0.0)
    with device.start(program(PLAIN)) as process:
        for _ in range(4):
            process.time("n4096", Lane.THROUGHPUT, 10, 2)
        taken = process.take_kept()
        assert process.take_kept() == []
    (call,) = taken
    content = call.inputs["x"]
    assert content is not None
    assert torch.equal(call.outputs["y"], 2 * content + 0.5)


@pytest.mark.parametrize("anew", [True, False])
def test_what_was_seen_at_an_address_comes_again_only_where_content_is_not_new(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    monkeypatch.setattr("assay.device.runners.process._KEPT_SHARE", 1.0)
    device.defences = Defences(content=anew)
    monkeypatch.setattr(device, "slots_for", lambda source, wanted, lane: wanted)
    with device.start(program(REMEMBERS)) as process:
        for _ in range(6):
            process.time("n4096", Lane.THROUGHPUT, 10, 2)
        outputs = [call.outputs["y"] for call in process.take_kept()]
    assert len(outputs) == 6
    replayed = [bool((output == 7.0).all()) for output in outputs]
    assert not replayed[0]
    assert any(replayed) is not anew
