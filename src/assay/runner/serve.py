"""The runner: loads one solution, and calls it when the doorbell says so.

It has no clock, no expected output and no seed. Nothing it says is believed, neither that it is
done nor what went wrong: the referee looks for itself, and takes from here only words to show.
"""

from __future__ import annotations

import gc
import mmap
import os
import socket
import tempfile
import traceback
from pathlib import Path
from typing import Any

from assay.runner import account
from assay.runner import modules
from assay.runner import state
from assay.runner.artefacts import artefacts
from assay.runner.artefacts import times
from assay.runner.lanes import MODES
from assay.runner.lanes import Ring
from assay.runner.machine import Call
from assay.runner.machine import GpuMachine
from assay.runner.machine import HostMachine
from assay.runner.solution import NativeSolution
from assay.runner.solution import PythonSolution
from assay.runner.solution import UnsupportedError
from assay.runner.solution import WrongResultError
from assay.runner.solution import load
from assay.wire import doorbell
from assay.wire import frame

_LONGEST_MESSAGE = 400
_OUT_OF_MEMORY = ("not enough memory", "allocate memory", "bad_alloc", "out of memory")


class Runner:
    def __init__(
        self,
        control: socket.socket,
        bell: int,
        machine: HostMachine | GpuMachine,
        folder: str | None,
    ) -> None:
        self._control = control
        self._folder = folder
        self._page = mmap.mmap(bell, doorbell.SIZE)
        self._words = doorbell.words(self._page)
        self._machine = machine
        self._solution: PythonSolution | NativeSolution | None = None
        self._rows: dict[str, list[Call]] = {}
        self._specs: dict[str, dict[str, Any]] = {}
        self._states: dict[str, tuple[object, ...]] = {}
        self._graphs: dict[tuple[str, int], list[Call]] = {}
        self._called = 0

    def serve(self) -> None:
        """Answer requests until the referee closes the socket; asleep in between."""
        while True:
            try:
                request, _ = frame.receive(self._control)
            except frame.FrameError:
                return
            frame.send(self._control, self._answer(request))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        verb = getattr(self, f"_{request['do']}")
        try:
            return {"ok": True, **(verb(request) or {})}
        # The one broad catch on this side: a solution may raise anything, SystemExit included, and
        # whatever it is becomes a sentence for the user. The referee does not rely on it.
        except BaseException as error:  # noqa: BLE001
            return _failure(request["do"], error)

    def _load(self, request: dict[str, Any]) -> None:
        self._folder = self._folder or tempfile.mkdtemp(prefix="assay-runner-")
        self._solution = load(request, Path(self._folder), self._machine.stream)

    def _artefacts(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._folder is not None
        folder = Path(self._folder)
        return {"files": artefacts(folder, _MOST_ARTEFACTS), "times": times(folder)}

    def _modules(self, request: dict[str, Any]) -> dict[str, Any]:
        """Which modules of some packages are loaded, and from where."""
        assert self._folder is not None
        folder = os.path.realpath(self._folder)
        return {"folder": folder, "modules": modules.loaded(request["packages"])}

    def _row(self, request: dict[str, Any]) -> None:
        self._specs[request["row"]] = request

    def _prepare(self, request: dict[str, Any]) -> None:
        """Build the row's state; the referee times this from outside."""
        assert self._solution is not None
        row = request["row"]
        self._states[row] = self._solution.prepare(self._specs[row], self._machine.memory)
        self._machine.synchronize()

    def _bind(self, request: dict[str, Any]) -> None:
        """Make a call for every slot, so that a batch does nothing but call."""
        assert self._solution is not None
        row = request["row"]
        self._rows[row] = self._solution.bind(
            self._specs[row], self._machine.memory, self._states[row]
        )
        self._graphs.clear()
        gc.freeze()  # thousands of tensors that live as long as the row need no looking at

    def _call(self, request: dict[str, Any]) -> None:
        """Untimed calls of given slots, for the check of correctness."""
        calls = self._rows[request["row"]]
        for slot in request["slots"]:
            calls[slot]()
        self._machine.synchronize()

    def _account(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls of given slots under a profiler: a claim, which can only speak against us."""
        assert self._folder is not None
        calls = self._rows[request["row"]]
        on_device = self._machine.stream is not None
        called_in = state.now(device=on_device)
        told = account.take(
            [calls[slot] for slot in request["slots"]],
            self._machine.synchronize,
            Path(self._folder),
            device=on_device,
        )
        return {**told, "state": called_in}

    def _batch(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Warm calls, then calls as they are revealed: nothing is known one call further ahead."""
        calls = self._rows[request["row"]]
        if request["nothing"]:
            calls = [_nothing] * len(calls)
        if request["mode"] == "graph":
            calls = self._captured(request["row"], calls, request["group"], request["warm"])
        for unit in request["warm"]:
            calls[unit]()
        self._machine.synchronize()
        first = self._called + 1
        self._called += request["count"]
        waiting = Ring(self._words, first, request["count"], self._machine.synchronize)
        gc.disable()  # a collection in one side's batch and not in the other's is noise
        try:
            self._words[doorbell.READY] = request["batch"]
            return MODES[request["mode"]](waiting, calls)
        finally:
            gc.enable()

    def _captured(self, row: str, calls: list[Call], size: int, warm: list[int]) -> list[Call]:
        """So many calls at a time as one graph. What is captured must have run before, on slots
        that may be written."""
        key = (row, size)
        if key not in self._graphs:
            units = [calls[at : at + size] for at in range(0, len(calls) - size + 1, size)]
            for call in units[warm[0]]:
                call()
            self._machine.synchronize()
            self._graphs[key] = [self._machine.capture(unit) for unit in units]
        return self._graphs[key]


def _nothing() -> None:
    return


_MOST_ARTEFACTS = 32 << 20


def _failure(verb: str, error: BaseException) -> dict[str, Any]:
    kind = "import_error" if verb == "load" else "crash"
    if isinstance(error, WrongResultError):
        kind, message = error.args
    elif isinstance(error, UnsupportedError):
        message = str(error)
    else:
        message = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
        text = str(error)
        if isinstance(error, MemoryError) or any(word in text for word in _OUT_OF_MEMORY):
            kind = "out_of_memory"
    return {"ok": False, "kind": kind, "message": message[:_LONGEST_MESSAGE]}
