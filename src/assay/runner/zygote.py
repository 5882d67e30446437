"""The zygote: a process that has torch loaded and forks runners from itself.

Starting Python and torch anew costs 2 to 3 s on a Neoverse-N1; a runner from here, 28 ms. The
zygote never sees a solution: each runner is a child of a child of it, in namespaces of its own
where the kernel grants them, so that killing a runner kills all that it started.

    referee ── zygote ── keeper ── runner (pid 1 of its namespace)
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from assay.runner import isolate
from assay.wire import frame


def serve(connection: socket.socket, referee: int, preloaded: Sequence[str] = ()) -> None:
    """Fork a runner for each request until the referee goes away."""
    isolate.die_with_parent(referee)
    # Keepers that end are nobody's business here: the referee watches its own sockets.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    frame.send(connection, {"ready": True})
    while True:
        try:
            request, descriptors = frame.receive(connection)
        except frame.FrameError:
            return
        zygote = os.getpid()
        keeper = os.fork()
        if keeper == 0:
            isolate.die_with_parent(zygote)
            _keep(connection, request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        frame.send(connection, {"keeper": keeper})


def _keep(zygote: socket.socket, request: dict[str, Any], descriptors: tuple[int, ...]) -> None:
    """In the keeper: isolate, fork the runner, wait for it, kill what it left, say how it ended."""
    os.setsid()
    isolate.adopt_orphans()
    zygote.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control = socket.socket(fileno=descriptors[0])
    held = {isolate.NAMESPACES: isolate.enter_namespaces() if request["isolate"] else False}
    # Without a private /tmp the solution's folder lies in everybody's, and the keeper removes it.
    folder = None if held[isolate.NAMESPACES] else tempfile.mkdtemp(prefix="assay-runner-")
    request = {**request, "folder": folder}
    lifeline, held_end = os.pipe()
    runner = os.fork()
    if runner == 0:
        os.close(held_end)
        isolate.die_with_holder(lifeline)
        _become_runner(control, request, descriptors, held)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    frame.send(control, {"runner": runner})
    _, status = os.waitpid(runner, 0)
    if not held[isolate.NAMESPACES]:
        # With a pid namespace the kernel has killed all the rest already (and /proc is not ours).
        isolate.kill_children()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # the referee may be gone
        frame.send(control, {"ended": os.waitstatus_to_exitcode(status)})
    os._exit(0)


def _become_runner(
    control: socket.socket,
    request: dict[str, Any],
    descriptors: tuple[int, ...],
    held: dict[str, bool],
) -> None:
    held[isolate.PRIVATE_FOLDERS] = held[isolate.NAMESPACES] and isolate.private_folders(
        request["folder_megabytes"]
    )
    isolate.close_all_but({control.fileno(), *descriptors[1:]})
    isolate.silence()
    isolate.no_new_privileges()
    on_gpu = request["device"] != "cpu"
    isolate.bound_resources(request["memory_bytes"], request["cpu_seconds"], on_gpu=on_gpu)
    os.sched_setaffinity(0, request["cores"])
    from assay.runner.machine import open_machine
    from assay.runner.serve import Runner

    try:
        machine = open_machine(request, descriptors[2])
        frame.send(control, {"held": held})
        Runner(control, descriptors[1], machine, request["folder"]).serve()
    # Not a solution's fault, for none is loaded yet: whoever opens the device is told why it fails.
    except Exception as error:  # noqa: BLE001
        frame.send(control, {"held": held, "error": f"{type(error).__name__}: {error}"[:400]})
    finally:
        os._exit(0)


def main() -> None:
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3:])


if __name__ == "__main__":
    main()
