"""Cargo: everything that goes into a pack, gathered before a byte of it is written."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.pack.client import Client
from assay.pack.entry import Entry
from assay.pack.entry import folder_entries
from assay.pack.entry import text_entry
from assay.pack.launcher import LAUNCHER_TEXT
from assay.pack.manifest import LAUNCHER
from assay.pack.manifest import SITE
from assay.pack.manifest import TASKS
from assay.pack.manifest import HostPackage
from assay.pack.manifest import PackedTask
from assay.pack.manifest import PackedWheel
from assay.pack.resolve import Resolution
from assay.pack.resolve import names_of
from assay.pack.resolve import own_requirements
from assay.pack.resolve import resolve
from assay.pack.wheel import Wheel
from assay.spec.errors import UsageError
from assay.spec.errors import quote

FRAME = "launcher and manifest"
# A GPU host has a torch that fits its driver, and these came with it.
HOST_PACKAGES = ("torch", "triton", "numpy")
# Clocks and leases of NVIDIA devices; pure Python, a third of a MiB.
DEVICE_PACKAGES = ("nvidia-ml-py>=12",)
_NEVER_CARRIED = "torch"
_PACKAGE = Path(assay.__file__).parent


@dataclass(frozen=True)
class CarriedTask:
    """A task's folder, with its name and hash as whoever loaded it found them."""

    name: str
    folder: Path
    task_hash: str

    @property
    def packed(self) -> PackedTask:
        path = f"{TASKS}/{self.name}"
        if self.is_shipped:
            inner = self.folder.resolve().relative_to(_PACKAGE.resolve()).as_posix()
            path = f"{SITE}/{_PACKAGE.name}/{inner}"
        return PackedTask(name=self.name, path=path, task_hash=self.task_hash)

    @property
    def is_shipped(self) -> bool:
        """Whether it travels with our package anyway."""
        return self.folder.resolve().is_relative_to(_PACKAGE.resolve())


@dataclass(frozen=True)
class Cargo:
    entries: tuple[Entry, ...]
    """All files but the manifest, in the order of their paths."""
    wheels: tuple[PackedWheel, ...]
    tasks: tuple[PackedTask, ...]
    host: tuple[HostPackage, ...]


def choose_wheels(
    client: Client, *, assume: Sequence[str], without: Sequence[str], more: Sequence[str]
) -> Resolution:
    """The wheels of our own requirements and of more, less what the host has."""
    wanted = names_of(more)
    if _NEVER_CARRIED in wanted:
        raise UsageError(f"{_NEVER_CARRIED} is always the host's own", where="--with")
    return resolve(
        [*own_requirements(), *DEVICE_PACKAGES, *more],
        client,
        assumed=names_of([*HOST_PACKAGES, *assume]) - wanted,
        without=names_of(without),
    )


def load(
    wheels: Sequence[Wheel], tasks: Sequence[CarriedTask], host: tuple[HostPackage, ...]
) -> Cargo:
    """What is packed of these; its entries can be read as long as the wheels are open."""
    names = [task.name for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two tasks are called {quote(twice)}", where="--task")
    return Cargo(
        entries=_without_doubles(_every(wheels, tasks)),
        wheels=tuple(wheel.packed() for wheel in wheels),
        tasks=tuple(task.packed for task in tasks),
        host=host,
    )


def _without_doubles(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """One entry a path: wheels may share a file, but not a path for different files."""
    by_path: dict[str, Entry] = {}
    for entry in entries:
        known = by_path.setdefault(entry.path, entry)
        if known is not entry and known.read() != entry.read():
            raise UsageError(
                f"{known.part} and {entry.part} both bring {quote(entry.path)}, and differ",
                next_step="leave one out with --without, or to the host with --assume",
            )
    return tuple(by_path[path] for path in sorted(by_path))


def _every(wheels: Iterable[Wheel], tasks: Iterable[CarriedTask]) -> Iterator[Entry]:
    yield text_entry(LAUNCHER, FRAME, LAUNCHER_TEXT, executable=True)
    yield from folder_entries(_PACKAGE, f"{SITE}/{_PACKAGE.name}", f"assay {assay.__version__}")
    for wheel in wheels:
        yield from wheel.entries()
    for task in tasks:
        if not task.is_shipped:
            yield from folder_entries(task.folder, f"{TASKS}/{task.name}", f"task {task.name}")
