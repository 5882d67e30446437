"""Finds devices by the names of the modules in this package."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import assay.device
from assay.device._base import Device
from assay.device.runners import RunnerDevice
from assay.spec.errors import UsageError
from assay.spec.errors import quote


def device_names() -> tuple[str, ...]:
    """Every module here that defines `open_device`, sorted."""
    names = (module.name for module in pkgutil.iter_modules(assay.device.__path__))
    return tuple(sorted(name for name in names if _opener(name) is not None))


def open_device(name: str) -> Device[Any]:
    """The device that `cpu`, `cuda` or `cuda:1` names."""
    kind, _, index = name.partition(":")
    opener = _opener(kind) if kind.isidentifier() and not kind.startswith("_") else None
    if opener is None or (index and not (index.isascii() and index.isdigit() and len(index) < 5)):
        raise UsageError(
            f"no device is called {quote(name)}",
            next_step=f"there are {', '.join(device_names())}; a number may follow, as in cuda:1",
        )
    opened: Device[Any] = opener(int(index or 0))
    return opened


def open_judging_device(name: str, *, isolate: bool = True) -> RunnerDevice:
    """The device of that name, not yet entered; refuses one that has no runners."""
    device = open_device(name)
    if not isinstance(device, RunnerDevice):
        raise UsageError(f"solutions cannot be judged on {quote(name)}", next_step="cpu or cuda")
    device.isolate = isolate
    return device


def _opener(name: str) -> Any:
    if name.startswith("_") or name not in {
        m.name for m in pkgutil.iter_modules(assay.device.__path__)
    }:
        return None
    return getattr(importlib.import_module(f"assay.device.{name}"), "open_device", None)
