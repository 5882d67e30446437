"""Cargo: everything that goes into a pack, gathered before a byte of it is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.pack.carried import PACKAGE
from assay.pack.carried import CarriedTask
from assay.pack.choose import Chosen
from assay.pack.compress import Bulk
from assay.pack.compress import compress
from assay.pack.entry import Entry
from assay.pack.entry import folder_entries
from assay.pack.entry import text_entry
from assay.pack.launcher import LAUNCHER_TEXT
from assay.pack.manifest import LAUNCHER
from assay.pack.manifest import NOTICE
from assay.pack.manifest import SITE
from assay.pack.manifest import HostPackage
from assay.pack.manifest import PackedArchive
from assay.pack.manifest import PackedBaseline
from assay.pack.manifest import PackedTask
from assay.pack.manifest import PackedWheel
from assay.pack.wheel import Wheel
from assay.spec.errors import UsageError
from assay.spec.errors import quote

FRAME = "launcher and manifest"


@dataclass(frozen=True)
class Cargo:
    entries: tuple[Entry, ...]
    """All files as they travel but the manifest, in the order of their paths."""
    bulky: tuple[Bulk, ...]
    """Wheels that are yet to be compressed."""
    paths: tuple[str, ...]
    wheels: tuple[PackedWheel, ...]
    tasks: tuple[PackedTask, ...]
    baselines: tuple[PackedBaseline, ...]
    host: tuple[HostPackage, ...]
    compressed: tuple[PackedArchive, ...] = ()

    def compress(self, scratch: Path) -> Cargo:
        """The same with an archive of each bulky wheel; archives are kept in scratch."""
        made = [compress(bulk, scratch) for bulk in self.bulky]
        every = (*self.entries, *(entry for _, entry in made))
        return dataclasses.replace(
            self,
            entries=tuple(sorted(every, key=lambda entry: entry.path)),
            bulky=(),
            compressed=tuple(archive for archive, _ in made),
        )


def load(
    wheels: Sequence[Wheel], tasks: Sequence[CarriedTask], chosen: Chosen, compress_from: int
) -> Cargo:
    """What is packed of these; its entries can be read as long as the wheels are open."""
    names = [task.name for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two tasks are called {quote(twice)}", where="--task")
    packed = tuple(wheel.packed() for wheel in wheels)
    roots = {wheel.part: chosen.root_of(wheel.name) for wheel in wheels}
    every = _without_doubles(_every(wheels, roots, tasks, packed))
    bulky = tuple(_bulky(every, wheels, compress_from))
    compressed = {bulk.wheel.part for bulk in bulky}
    folders = (f for wheel in wheels for f in wheel.import_folders(roots[wheel.part]))
    return Cargo(
        entries=tuple(entry for entry in every if entry.part not in compressed),
        bulky=bulky,
        paths=tuple(dict.fromkeys((SITE, *roots.values(), *folders))),
        wheels=packed,
        tasks=tuple(task.packed for task in tasks),
        baselines=tuple(
            chosen.packed_baseline(task.packed, baseline)
            for task in tasks
            for baseline in task.baselines
        ),
        host=chosen.host,
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


def _bulky(entries: Sequence[Entry], wheels: Iterable[Wheel], compress_from: int) -> Iterator[Bulk]:
    for wheel in wheels:
        if wheel.wheel_bytes >= compress_from:
            yield Bulk(wheel, tuple(entry for entry in entries if entry.part == wheel.part))


def _every(
    wheels: Iterable[Wheel],
    roots: dict[str, str],
    tasks: Iterable[CarriedTask],
    packed: Iterable[PackedWheel],
) -> Iterator[Entry]:
    yield text_entry(LAUNCHER, FRAME, LAUNCHER_TEXT, executable=True)
    restricted = [wheel for wheel in packed if wheel.restricted is not None]
    if restricted:
        yield text_entry(NOTICE, FRAME, _notice(restricted))
    yield from folder_entries(PACKAGE, f"{SITE}/{PACKAGE.name}", f"assay {assay.__version__}")
    for wheel in wheels:
        yield from wheel.entries(roots[wheel.part])
    for task in tasks:
        yield from task.entries()


def _notice(restricted: Iterable[PackedWheel]) -> str:
    lines = [f"  {wheel.name} {wheel.version}: {wheel.restricted}" for wheel in restricted]
    return "\n".join(
        [
            "This pack is for hosts of your own, and not for redistribution.",
            "It holds wheels whose licence, as their metadata names it, is no open-source one:",
            *lines,
            "",
        ]
    )
