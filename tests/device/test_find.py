from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import assay.device
from assay.device import device_names
from assay.device import open_device
from assay.device.fake import FakeDevice
from assay.spec.errors import UsageError


def test_the_fake_device_is_found_by_its_name() -> None:
    assert "fake" in device_names()
    assert isinstance(open_device("fake"), FakeDevice)
    assert isinstance(open_device("fake:0"), FakeDevice)


def test_modules_that_are_no_devices_are_not_listed() -> None:
    assert "environment" not in device_names()
    assert not any(name.startswith("_") for name in device_names())


@pytest.mark.parametrize(
    "name",
    [
        "tpu",
        "",
        ":1",
        "fake:x",
        "fake:-1",
        "fake:²",
        "_base",
        "environment",
        "../os",
        "os",
        "fa ke",
    ],
)
def test_anything_else_is_misuse_with_the_list_of_what_there_is(name: str) -> None:
    with pytest.raises(UsageError, match=r"no device is called .*there are .*fake"):
        open_device(name)


def test_a_second_fake_device_is_not_there() -> None:
    with pytest.raises(UsageError, match="there is one fake device, not 2"):
        open_device("fake:1")


def test_adding_a_device_touches_nothing_but_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toaster.py").write_text(
        "from assay.device.fake import FakeDevice\n"
        "def open_device(index):\n    device = FakeDevice()\n    device.now = float(index)\n"
        "    return device\n"
    )
    monkeypatch.setattr(assay.device, "__path__", [*assay.device.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    try:
        assert "toaster" in device_names()
        assert open_device("toaster:3").now == 3.0  # type: ignore[attr-defined]
    finally:
        sys.modules.pop("assay.device.toaster", None)
