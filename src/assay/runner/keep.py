"""Keep a command and all that it starts within a length of time.

    python -m assay.runner.keep SECONDS COMMAND…

Whatever the command starts, in sessions of its own or not, is gone when this ends: at the
command's own end, at the limit, or when the caller closes the standard input. Standard library
only.
"""

from __future__ import annotations

import os
import resource
import select
import sys

from assay.runner import isolate

OUT_OF_TIME = 124
_SIGNALLED = 128


def keep(command: list[str], seconds: float) -> int:
    """Run the command; its exit status as a shell would give it, or OUT_OF_TIME."""
    isolate.adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDONLY)
    started = os.posix_spawnp(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 0)]
    )
    handle = os.pidfd_open(started)
    ready, _, _ = select.select([handle, sys.stdin.fileno()], [], [], seconds)
    status = OUT_OF_TIME
    if handle in ready:
        _, raw = os.waitpid(started, 0)
        code = os.waitstatus_to_exitcode(raw)
        status = _SIGNALLED - code if code < 0 else code
    isolate.kill_children()
    return status


def main() -> None:
    sys.exit(keep(sys.argv[2:], float(sys.argv[1])))


if __name__ == "__main__":
    main()
