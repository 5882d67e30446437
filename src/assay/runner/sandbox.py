"""Sandbox: the parts in their order, which of them were asked for, and which are held.

What could not be had is reported, so that the label of a verdict says how well its runners were
held. Namespaces and folders are for a process to make before it forks the one that is confined.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from collections.abc import Iterable

from assay.runner import isolate
from assay.runner import landlock
from assay.runner import mounts
from assay.runner import seccomp

NAMESPACES = "namespaces"
PRIVATE_FOLDERS = "private_folders"
READ_ONLY_ROOT = "read_only_root"
LANDLOCK = "landlock"
SECCOMP = "seccomp"
PARTS = (NAMESPACES, PRIVATE_FOLDERS, READ_ONLY_ROOT, LANDLOCK, SECCOMP)


class Sandbox:
    def __init__(self, without: Collection[str] = ()) -> None:
        self._without = frozenset(without)
        self.held = dict.fromkeys(PARTS, False)
        self.fresh_folders = False
        """Whether /tmp and /dev/shm are its own; it is, where /proc was refused, even if the
        private folders as a whole are not held."""

    def _wanted(self, part: str) -> bool:
        return part not in self._without

    # -- in the process that forks

    def enter_namespaces(self) -> None:
        self.held[NAMESPACES] = self._wanted(NAMESPACES) and isolate.enter_namespaces()

    def arrange_folders(
        self, megabytes: int, own: str | None = None, readable: Iterable[str] = ()
    ) -> None:
        if not self.held[NAMESPACES]:
            return
        arranged = mounts.arrange(
            megabytes,
            private=self._wanted(PRIVATE_FOLDERS),
            read_only=self._wanted(READ_ONLY_ROOT),
            own=own,
            readable=readable,
        )
        self.fresh_folders = arranged.private
        self.held[READ_ONLY_ROOT] = arranged.read_only

    # -- in the process that is confined

    def enter_proc(self, device: str) -> None:
        named = landlock.thread_names(device)
        own = self.held[NAMESPACES] and mounts.own_proc(
            read_only=self.held[READ_ONLY_ROOT], but=named
        )
        self.held[PRIVATE_FOLDERS] = own and self.fresh_folders

    def give_up_privileges(self) -> None:
        isolate.no_new_privileges()
        isolate.drop_capabilities()

    def enter_landlock(self, device: str, own: str, readable: Iterable[str] = ()) -> None:
        """Before there is a second thread; `own` is the folder that may be written."""
        if not self._wanted(LANDLOCK):
            return
        writable = [own]
        if self.fresh_folders:
            writable += mounts.PRIVATE
        elif device != "cpu":
            writable.append("/dev/shm")  # everybody's, but drivers share memory there
        version = landlock.restrict(
            [
                *landlock.needs(device),
                *((path, landlock.READ) for path in readable),
                *((path, landlock.WRITE) for path in writable),
            ]
        )
        self.held[LANDLOCK] = version >= landlock.ENOUGH_ABI

    def enter_seccomp(self) -> None:
        """Last: what the device's driver does in opening it is none of the solution's doing."""
        if self._wanted(SECCOMP):
            # In a pid namespace there is nobody else to send a signal to.
            only = None if self.held[NAMESPACES] else os.getpid()
            self.held[SECCOMP] = seccomp.install(only)


def try_parts() -> dict[str, bool]:
    """What would be held on this host. The process that asks is not fit for anything after it."""
    sandbox = Sandbox()
    sandbox.enter_namespaces()
    sandbox.arrange_folders(1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        sandbox.enter_proc("cpu")
        sandbox.give_up_privileges()
        sandbox.enter_landlock("cpu", "/tmp")
        sandbox.enter_seccomp()
        os.write(writing, bytes(sandbox.held[part] for part in PARTS))
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    # A process that was killed on the way has said nothing.
    answer = os.read(reading, len(PARTS)).ljust(len(PARTS), b"\0")
    os.close(reading)
    return {part: bool(held) for part, held in zip(PARTS, answer, strict=True)}
