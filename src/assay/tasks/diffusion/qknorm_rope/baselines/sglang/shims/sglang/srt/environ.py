"""In place of the server's two thousand lines of settings: those that builds of kernels ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


class _Setting:
    def __init__(self, name: str, read: Callable[[str], Any], default: Any) -> None:
        self._name, self._read, self._default = name, read, default

    def get(self) -> Any:
        value = os.environ.get(self._name)
        return self._default if value is None else self._read(value)


def _is_yes(value: str) -> bool:
    return value.lower() in {"1", "true", "yes", "y"}


_KINDS: dict[str, tuple[Callable[[str], Any], Any]] = {
    "SGLANG_CRASH_ON_JIT_COMPILE": (_is_yes, False),
    "SGLANG_JIT_CACHE_DEBUG": (_is_yes, False),
    "SGLANG_JIT_CACHE_DIR": (str, None),
    "SGLANG_JIT_CACHE_KEEP": (int, None),
    "SGLANG_JIT_FORCE_RECOMPILE": (_is_yes, False),
    "SGLANG_JIT_KERNEL_RUN_FULL_TESTS": (_is_yes, False),
    "SGLANG_JIT_LOG_RESOURCE_USAGE": (_is_yes, False),
    "SGLANG_SAIL_GPU_ARCH": (str, "native"),
}


class envs:  # noqa: N801
    """Settings by name, each with a `get`."""


for _name, _kind in _KINDS.items():
    setattr(envs, _name, _Setting(_name, *_kind))
