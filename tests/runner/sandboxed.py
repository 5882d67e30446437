"""Bare processes in a sandbox: what they try, and how that ended. No torch."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.device.doctor import try_sandbox
from assay.judge.confined import Ended
from assay.judge.confined import run_confined

BEGINNING = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def say(*what):
    print(*what, file=sys.stderr, flush=True)
def attempt(what):
    try:
        say(what())
    except OSError as error:
        say(type(error).__name__, error.errno)
"""


@functools.cache
def granted() -> dict[str, bool]:
    return try_sandbox()


def require(*parts: str) -> None:
    """Skip by name where the kernel does not grant a part."""
    for part in parts:
        if not granted().get(part):
            pytest.skip(f"this kernel grants no {part}")


def tried(
    code: str,
    folder: Path,
    without: Sequence[str] = (),
    readable: Sequence[str] = (),
    device: str = "cpu",
) -> Ended:
    """Python code in a process of its own that is confined to a folder."""
    command = [sys.executable, "-S", "-c", BEGINNING + code]
    return run_confined(command, folder, 60, without=without, readable=readable, device=device)


def said(
    code: str,
    folder: Path,
    without: Sequence[str] = (),
    readable: Sequence[str] = (),
    device: str = "cpu",
) -> list[str]:
    """What such code wrote, having ended well."""
    ended = tried(code, folder, without, readable, device)
    assert ended.status == 0, ended.errors
    return ended.errors.splitlines()
