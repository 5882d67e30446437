"""Runs an evaluator on a solution, in a process and a folder of its own, and reads its result.

The plain evaluator is one; a user's own command is another. It is told the folder of a solution and
must print a line `RESULT {"ok": true, "speedup": 1.7}`; the last such line counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote

SOLUTION = "{solution}"
WIN = 1.5
"""From this ratio on a gain that is not there is a defeat, whatever the noise."""
_MARK = "RESULT "
_SECONDS = 90
_LARGEST_OUTPUT = 1 << 20
_MOST = 1e12


@dataclass(frozen=True)
class Result:
    """What an evaluator said of one solution."""

    ok: bool
    """Whether it took the solution for right."""
    speedup: float | None
    said: str
    """Its last word where it gave no result."""

    def content(self) -> dict[str, Any]:
        return {"ok": self.ok, "speedup": self.speedup, "said": self.said}


def plain_command(device: str) -> list[str]:
    """The plain evaluator, as a command."""
    return [sys.executable, "-m", "assay.redteam.plain", SOLUTION, "--device", device]


def read_command(text: str) -> list[str]:
    """A user's command line, split as a shell would."""
    where = "--evaluator"
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot be split into words: {quote(error)}", where=where) from None
    if not any(SOLUTION in word for word in command):
        raise UsageError(
            f"nothing in it says {SOLUTION}, so no solution would be tried",
            where=where,
            next_step=f'as in --evaluator "python evaluate.py {SOLUTION}"',
        )
    return command


def run_evaluator(command: Sequence[str], solution: Path, seconds: float = _SECONDS) -> Result:
    """One run in an empty folder; whatever it started is killed when it is over."""
    words = [word.replace(SOLUTION, str(solution.resolve())) for word in command]
    with tempfile.TemporaryDirectory(prefix="assay-evaluator-") as folder:
        status, output = _run(words, folder, seconds)
    lines = output.decode(errors="replace").splitlines()
    results = [line[len(_MARK) :] for line in lines if line.startswith(_MARK)]
    if results:
        return _read(results[-1])
    last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    how = f"not done within {seconds:.0f} s" if status is None else f"exit status {status}"
    return Result(False, None, f"{how}: {quote(last.strip())}")


def _run(words: list[str], folder: str, seconds: float) -> tuple[int | None, bytes]:
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(folder),
                start_new_session=True,
            )
        except OSError as error:
            raise UnavailableError(
                f"cannot be started: {error.strerror}", where=quote(words[0])
            ) from None
        status: int | None = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=seconds)
        finally:  # an interrupt of ours does not reach a session of its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _LARGEST_OUTPUT))
        return status, output.read()


def _environment(folder: str) -> dict[str, str]:
    """As usual, with our own modules in reach and temporary files where they are removed again."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": folder}


def _read(text: str) -> Result:
    try:
        value = json.loads(text)
    except ValueError:
        return Result(False, None, f"no JSON after {_MARK.strip()}: {quote(text)}")
    if not isinstance(value, dict) or not isinstance(value.get("ok"), bool):
        return Result(False, None, f"no ok in its result: {quote(text)}")
    return Result(value["ok"], _positive(value.get("speedup")), "")


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < _MOST else None
