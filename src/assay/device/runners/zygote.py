"""The referee's end of the zygote: starts it, asks it for runners, and sees that they end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners.rest import Rest
from assay.spec.errors import UnavailableError
from assay.spec.errors import quote
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from assay.wire import frame

_ZYGOTE = "assay.runner.zygote"
_START_SECONDS = 120.0
_END_SECONDS = 2.0
_FOLDER_MEGABYTES = 256
_CPU_SECONDS = 3600
# A name in the environment that a solution could read is a name that it could act on.
_KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    # Without these a runner would count the devices otherwise than the referee does.
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
)


@dataclass
class RunnerHandle:
    """A live runner: its control socket, and a handle on its process that is never reused."""

    control: socket.socket
    pid: int
    pidfd: int
    held: dict[str, bool]
    ended: int | None = None
    core: int | None = None
    rest: Rest | None = None
    """Watches that it sleeps from one answer to the next request, where somebody asked for it."""
    _open: bool = field(default=True, repr=False)

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return its answer; raises ProcessFailure if none comes."""
        self.tell(message)
        return self.answer(seconds)

    def tell(self, message: dict[str, Any]) -> None:
        worked = self.rest.end() if self.rest is not None else 0
        if worked:
            raise violation(
                ViolationKind.OUT_OF_TURN,
                f"it worked for {worked / 1e6:.1f} ms when it was not its turn",
            )
        try:
            frame.send(self.control, message)
        except OSError:
            self._explain_end()

    def answer(self, seconds: float) -> dict[str, Any]:
        self.control.settimeout(seconds)
        try:
            reply, descriptors = frame.receive(self.control)
        except TimeoutError:
            raise ProcessFailure(Status.TIMEOUT, f"no answer within {seconds:.0f} s") from None
        except (frame.FrameError, OSError):
            self._explain_end()
        for descriptor in descriptors:
            os.close(descriptor)
        if "ended" in reply:
            self.ended = _number(reply["ended"])
            self._explain_end()
        if self.rest is not None:
            self.rest.begin()
        return _checked(reply)

    def waited_nanoseconds(self) -> int:
        """How long its main thread has stood in line for a core, as the kernel counts."""
        try:
            text = Path(f"/proc/{self.pid}/schedstat").read_text()
        except OSError:  # gone, or a kernel that does not count
            return 0
        return int(text.split()[1])

    def move_to(self, core: int) -> None:
        """Have all of its threads on that core; a thread that is just ending does not matter."""
        if core == self.core:
            return
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), {core})
        self.core = core

    def alive(self) -> bool:
        return not select.select([self.pidfd], [], [], 0)[0]

    def _explain_end(self) -> Any:
        code = self.ended
        if code is None:
            raise ProcessFailure(Status.CRASH, "its process ended without a word")
        if code == -signal.SIGSYS:
            raise ProcessFailure(
                Status.VIOLATION,
                "its process was ended by SIGSYS: it made a system call that the sandbox forbids",
                ViolationKind.SANDBOX,
            )
        if code < 0:
            with contextlib.suppress(ValueError):
                name = signal.Signals(-code).name
                raise ProcessFailure(Status.CRASH, f"its process was killed by {name}")
        raise ProcessFailure(Status.CRASH, f"its process exited with status {code}")

    def kill(self) -> None:
        """Kill the runner; all that it started goes with it."""
        if self._open:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def stop(self) -> None:
        """Kill the runner and all that it started, and wait until it is gone."""
        if not self._open:
            return
        self.kill()
        self._open = False
        select.select([self.pidfd], [], [], _END_SECONDS)
        self._await_keeper()
        self.control.close()
        os.close(self.pidfd)

    def _await_keeper(self) -> None:
        """The keeper closes its end when everything that the runner started is gone."""
        self.control.settimeout(_END_SECONDS)
        with contextlib.suppress(OSError):
            while self.control.recv(1 << 16):
                pass


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    """An answer that says no becomes the failure that it names, if that is one it may name."""
    if reply.get("ok") is True:
        return reply
    named = {status.value: status for status in _CLAIMABLE}
    status = named.get(str(reply.get("kind")), Status.CRASH)
    message = str(reply.get("message") or "it failed without a message")
    raise ProcessFailure(status, " ".join(message.split())[:400])


# A solution may only ever accuse itself; FASTER is not among what it can claim.
_CLAIMABLE = (
    Status.IMPORT_ERROR,
    Status.CRASH,
    Status.OUT_OF_MEMORY,
    Status.WRONG_SHAPE,
    Status.WRONG_DTYPE,
    Status.WRONG_STRIDE,
    Status.WRONG_DEVICE,
)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and -65 < value < 256 else None


class Zygote:
    """One process with torch loaded; runners are forked from it."""

    def __init__(self, *, isolate: bool = True, preloaded: Sequence[str] = ()) -> None:
        self._isolate = isolate
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control = ours
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    _ZYGOTE,
                    str(theirs.fileno()),
                    str(os.getpid()),
                    *preloaded,
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                cwd="/",
                env=runner_environment(),
                start_new_session=True,
            )
        self._ready = False

    def _expect(self, key: str) -> Any:
        self._control.settimeout(_START_SECONDS)
        try:
            reply, _ = frame.receive(self._control)
            return reply[key]
        except (TimeoutError, frame.FrameError, OSError, KeyError):
            word = self._last_word()
            self.close()
            raise UnavailableError(
                f"the process that starts runners did not start: {word}",
                next_step="assay doctor says what this host lacks",
            ) from None

    def _last_word(self) -> str:
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return quote(lines[-1]) if lines else "it said nothing"

    def begin(self, bell: int, memory: int, limits: dict[str, Any]) -> Callable[[], RunnerHandle]:
        """Begin to start a runner over the given memory, told its device, cores and limits; what
        is returned waits for it."""
        if not self._ready:  # it has loaded torch while its owner did other things
            self._expect("ready")
            self._ready = True
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        request = {
            "isolate": self._isolate,
            "folder_megabytes": _FOLDER_MEGABYTES,
            "cpu_seconds": _CPU_SECONDS,
            **limits,
        }
        with theirs:
            frame.send(self._control, request, (theirs.fileno(), bell, memory))
        self._expect("keeper")
        return partial(_introduced, ours)

    def close(self) -> None:
        """End the zygote; its runners end with it."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._words.close()


def runner_environment() -> dict[str, str]:
    """A few variables, and the way to our own modules whatever the folder we were started in."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**kept, **threads, "PYTHONPATH": path, "HOME": "/tmp"}


def _introduced(control: socket.socket) -> RunnerHandle:
    """Keeper and runner each send one frame, in either order: the pid, and what is held."""
    control.settimeout(_START_SECONDS)
    known: dict[str, Any] = {}
    try:
        while not {"runner", "held"} <= known.keys():
            reply, _ = frame.receive(control)
            known.update(reply)
        pidfd = os.pidfd_open(known["runner"])
    except (TimeoutError, frame.FrameError, OSError):
        control.close()
        raise UnavailableError("a runner did not start", next_step="see assay doctor") from None
    if "error" in known:
        control.close()
        os.close(pidfd)
        raise UnavailableError(
            f"a runner could not open the device: {quote(str(known['error']))}",
            next_step="assay doctor says what this host lacks",
        )
    return RunnerHandle(control, known["runner"], pidfd, known["held"])
