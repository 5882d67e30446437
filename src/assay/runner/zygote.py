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
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import Sandbox
from assay.wire import frame

FOLDER_PREFIX = "assay-runner-"


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
    sandbox = Sandbox((*request["without"], *(() if request["isolate"] else (NAMESPACES,))))
    sandbox.enter_namespaces()
    sandbox.arrange_folders(request["folder_megabytes"])
    folder = _own_folder(sandbox)
    lifeline, held_end = os.pipe()
    runner = os.fork()
    if runner == 0:
        os.close(held_end)
        isolate.die_with_holder(lifeline)
        _become_runner(control, {**request, "folder": folder}, descriptors, sandbox)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    frame.send(control, {"runner": runner})
    _, status = os.waitpid(runner, 0)
    if not sandbox.held[NAMESPACES]:
        # With a pid namespace the kernel has killed all the rest already (and /proc is not ours).
        isolate.kill_children()
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # the referee may be gone
        frame.send(control, {"ended": os.waitstatus_to_exitcode(status)})
    os._exit(0)


def _own_folder(sandbox: Sandbox) -> str:
    """Where /tmp is the runner's own, always the same: compilers keep paths in what they make, and
    take one from another folder for something else. In everybody's /tmp it is a new one, which the
    keeper removes."""
    if not sandbox.fresh_folders:
        return tempfile.mkdtemp(prefix=FOLDER_PREFIX)
    folder = f"/tmp/{FOLDER_PREFIX}own"
    os.mkdir(folder, 0o700)
    return folder


def _become_runner(
    control: socket.socket,
    request: dict[str, Any],
    descriptors: tuple[int, ...],
    sandbox: Sandbox,
) -> None:
    os.setpgid(0, 0)  # a signal to its own group reaches nobody else
    sandbox.enter_proc(request["device"])
    isolate.close_all_but({control.fileno(), *descriptors[1:]})
    isolate.silence()
    on_gpu = request["device"] != "cpu"
    isolate.bound_resources(request["memory_bytes"], request["cpu_seconds"], on_gpu=on_gpu)
    if not on_gpu:
        os.sched_setaffinity(0, request["cores"])
    if not sandbox.fresh_folders:
        _keep_to(request["folder"])
    from assay.runner.machine import open_machine
    from assay.runner.serve import Runner

    try:
        sandbox.give_up_privileges()
        # The driver starts threads, which landlock would not hold and seccomp does.
        sandbox.enter_landlock(request["device"], request["folder"])
        machine = open_machine(request, descriptors[2])
        # Several open a GPU at a time, each on a core of its own; to the core where they take
        # turns they go afterwards. Threads of the driver follow when the referee moves the runner.
        os.sched_setaffinity(0, request["cores"])
        sandbox.enter_seccomp()
        frame.send(control, {"held": sandbox.held})
        Runner(control, descriptors[1], machine, request["folder"]).serve()
    # Not a solution's fault, for none is loaded yet: whoever opens the device is told why it fails.
    except Exception as error:  # noqa: BLE001
        said = f"{type(error).__name__}: {error}"[:400]
        frame.send(control, {"held": sandbox.held, "error": said})
    finally:
        os._exit(0)


def _keep_to(folder: str) -> None:
    """Everybody's /tmp is not for a runner: what would go there goes into its own folder."""
    os.environ.update(TMPDIR=folder, HOME=folder)
    tempfile.tempdir = folder


def main() -> None:
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3:])


if __name__ == "__main__":
    main()
