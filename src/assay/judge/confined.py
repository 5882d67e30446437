"""Confined: the referee's end of a command in a sandbox of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.runner.confine import OUT_OF_TIME
from assay.runner.sandbox import PARTS

_MORE_SECONDS = 10
"""For the sandbox itself, which ends the command in time."""
_MEMORY_BYTES = 16 << 30
_FILE_BYTES = 1 << 30
_MOST_REPORT = 4096


@dataclass(frozen=True)
class Ended:
    status: int
    """As a shell would give it; OUT_OF_TIME where it had to be ended."""
    errors: str
    held: Mapping[str, bool]


def run_confined(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    *,
    readable: Sequence[str] = (),
    without: Sequence[str] = (),
    device: str = "cpu",
) -> Ended:
    """Run it in that folder, with no network, and nothing else to write to but a device's nodes.

    No variable of ours that a compiler would take for a flag reaches it.
    """
    reading, writing = os.pipe()
    request = {
        "parent": os.getpid(),
        "folder": str(folder),
        "device": device,
        "readable": list(readable),
        "without": list(without),
        "report": writing,
        "seconds": seconds,
        "memory_bytes": _MEMORY_BYTES,
        "file_bytes": _FILE_BYTES,
    }
    with os.fdopen(reading, "rb") as report:
        try:
            # -P: the folder holds a solution's files, and no module of ours comes from there.
            process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-S", "-m", "assay.runner.confine"),
                    *(json.dumps(request), *command),
                ],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(writing,),
                env=_environment(folder),
                start_new_session=True,
            )
        finally:
            os.close(writing)
        try:
            _, errors = process.communicate(timeout=seconds + _MORE_SECONDS)
            status = process.returncode
        except subprocess.TimeoutExpired:
            status, errors = OUT_OF_TIME, b""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        held = _held(report.read(_MOST_REPORT))
    assert process.stderr is not None
    process.stderr.close()
    return Ended(status, errors.decode(errors="replace"), held)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "LC_ALL": "C",
        "TMPDIR": str(folder),
        "HOME": str(folder),
        "PYTHONPATH": str(Path(assay.__file__).parents[1]),
    }


def _held(report: bytes) -> dict[str, bool]:
    """What the sandbox said before the command began; nothing holds where it said nothing."""
    try:
        told = json.loads(report)
    except ValueError:
        told = {}
    return {part: told.get(part) is True for part in PARTS}
