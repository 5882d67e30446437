"""Probe: foreign code is run once in a sandbox, to learn what it takes and gives."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import assay
from assay.judge.confined import run_confined
from assay.runner.confine import OUT_OF_TIME
from assay.runner.confine import SIGNALLED
from assay.spec.errors import UsageError
from assay.task.exchange.names import one_line
from assay.task.files import read_inside

SECONDS = 600
_LARGEST_RESULT = 8 * 2**20
_RESULT = "result.json"
_REQUEST = "request.json"


def probed(
    module: str, sources: Mapping[str, str], request: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """What a probe of ours found in the sources; UsageError with its reason where it refused.

    The code that is looked at shares the probe's process, so nothing that comes back is believed
    to be more than a description: whoever reads it checks every part.
    """
    ours = str(Path(assay.__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {ours!r}); "
        f"from assay.task.exchange import {module} as probe; probe.main()"
    )
    with tempfile.TemporaryDirectory(prefix="assay-probe-") as name:
        folder = Path(name).resolve()
        for path, text in sources.items():
            (folder / path).write_bytes(text.encode())
        (folder / _REQUEST).write_text(json.dumps(request))
        ended = run_confined(
            [sys.executable, "-P", "-c", program],
            folder,
            SECONDS,
            readable=(sys.prefix, sys.base_prefix, ours),
        )
        if ended.status:
            raise UsageError(_why(ended.status, ended.errors), where=where)
        try:
            found = json.loads(read_inside(folder, _RESULT, _LARGEST_RESULT))
        except (UsageError, ValueError, RecursionError):
            found = None
    if not isinstance(found, dict):
        raise UsageError("it ended before it could be looked at", where=where)
    if "refused" in found:
        raise UsageError(one_line(found["refused"]), where=where)
    return found


def _why(status: int, errors: str) -> str:
    if status == OUT_OF_TIME:
        return f"running it took over {SECONDS} s here"
    if status == SIGNALLED + signal.SIGSYS:
        return "it made a system call that the sandbox forbids"
    if status in {SIGNALLED + signal.SIGKILL, SIGNALLED + signal.SIGSEGV}:
        return f"running it ended by signal {status - SIGNALLED}; there may be too little memory"
    lines = errors.strip().splitlines()
    return one_line(f"running it failed: {lines[-1] if lines else 'no message'}")
