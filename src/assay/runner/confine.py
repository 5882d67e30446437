"""Run one command, a compiler say, in a sandbox of its own.

    python -P -S -m assay.runner.confine REQUEST COMMAND…

The request is JSON: `parent`, the process to end with; `folder`, the command's own, where it
starts and may write; `readable`, what else it may read; `without`, parts to leave out;
`device`, the kind whose nodes it may open; `report`, a descriptor that is told what is held;
and limits. Whatever the command starts is gone
when this ends. Standard library only.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import sys
from typing import Any

from assay.runner import isolate
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import Sandbox

OUT_OF_TIME = 124
NOT_STARTED = 127
SIGNALLED = 128
_FOLDER_MEGABYTES = 1024
_OURS = ("PYTHONPATH", "PYTHONSAFEPATH")


def confine(request: dict[str, Any], command: list[str]) -> int:
    """Run the command; its exit status as a shell would give it."""
    isolate.die_with_parent(request["parent"])
    isolate.adopt_orphans()
    sandbox = Sandbox(request["without"])
    sandbox.enter_namespaces()
    sandbox.arrange_folders(_FOLDER_MEGABYTES, request["folder"], request["readable"])
    lifeline, held_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held_end)
        isolate.die_with_holder(lifeline)
        try:
            _become(request, command, sandbox)
        finally:
            os._exit(NOT_STARTED)
    os.close(request["report"])
    handle = os.pidfd_open(child)
    in_time = bool(select.select([handle], [], [], request["seconds"])[0])
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not sandbox.held[NAMESPACES]:
        isolate.kill_children()
    code = os.waitstatus_to_exitcode(status)
    if not in_time:
        return OUT_OF_TIME
    return SIGNALLED - code if code < 0 else code


def _become(request: dict[str, Any], command: list[str], sandbox: Sandbox) -> None:
    sandbox.enter_proc(request["device"])
    os.chdir(request["folder"])
    _bound(request)
    sandbox.give_up_privileges()
    sandbox.enter_landlock(request["device"], request["folder"], request["readable"])
    sandbox.enter_seccomp()
    os.write(request["report"], json.dumps(sandbox.held).encode())
    isolate.close_all_but(set())
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    os.execvpe(command[0], command, environment)


def _bound(request: dict[str, Any]) -> None:
    for kind, most in (
        (resource.RLIMIT_CPU, math.ceil(request["seconds"])),
        (resource.RLIMIT_AS, request["memory_bytes"]),
        (resource.RLIMIT_FSIZE, request["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hardest = resource.getrlimit(kind)[1]
        limit = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
        resource.setrlimit(kind, (limit, limit))


def main() -> None:
    sys.exit(confine(json.loads(sys.argv[1]), sys.argv[2:]))


if __name__ == "__main__":
    main()
