"""Tasks that a pack carries, as whoever loaded them found them, and their baselines."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.pack.entry import Entry
from assay.pack.entry import data_entry
from assay.pack.entry import folder_entries
from assay.pack.manifest import SITE
from assay.pack.manifest import TASKS
from assay.pack.manifest import PackedTask
from assay.spec.errors import EvidenceError
from assay.spec.errors import quote
from assay.spec.lock import SNAPSHOT
from assay.spec.lock import BaselineLock
from assay.spec.noun import sha256_hex

PACKAGE = Path(assay.__file__).parent
SNAPSHOTS = "snapshots"
"""The part of a pack that all of them make up; what each takes stands with its baseline."""


@dataclass(frozen=True)
class CarriedBaseline:
    """A baseline out of a wheel; its folder lies in the task's."""

    name: str
    path: str
    """Relative to the task's folder."""
    lock: BaselineLock
    files: Mapping[str, bytes] | None
    """The snapshot by the lock's paths; None: it stays behind."""

    @property
    def lock_hash(self) -> str:
        return sha256_hex(self.lock.canonical())

    def entries(self, task: PackedTask) -> Iterator[Entry]:
        """The snapshot's files; EvidenceError for one that is not the lock's, to the byte."""
        if self.files is None:
            return
        where = f"{task.name}/{self.name}"
        for file in self.lock.files:
            data = self.files.get(file.path)
            if data is None or sha256_hex(data) != file.sha256:
                raise EvidenceError(
                    f"{quote(file.path)} is not the file that the lock names",
                    where=where,
                    next_step=f"assay task snapshot {task.name}",
                )
            path = f"{task.path}/{self.path}/{SNAPSHOT}/{file.path}"
            yield data_entry(path, SNAPSHOTS, data)


@dataclass(frozen=True)
class CarriedTask:
    """A task's folder, with its name and hash."""

    name: str
    folder: Path
    task_hash: str
    baselines: tuple[CarriedBaseline, ...] = ()

    @property
    def packed(self) -> PackedTask:
        path = f"{TASKS}/{self.name}"
        if self.is_shipped:
            inner = self.folder.resolve().relative_to(PACKAGE.resolve()).as_posix()
            path = f"{SITE}/{PACKAGE.name}/{inner}"
        return PackedTask(name=self.name, path=path, task_hash=self.task_hash)

    @property
    def is_shipped(self) -> bool:
        """Whether it travels with our package anyway."""
        return self.folder.resolve().is_relative_to(PACKAGE.resolve())

    def entries(self) -> Iterator[Entry]:
        if not self.is_shipped:
            yield from folder_entries(self.folder, f"{TASKS}/{self.name}", f"task {self.name}")
        for baseline in self.baselines:
            yield from baseline.entries(self.packed)
