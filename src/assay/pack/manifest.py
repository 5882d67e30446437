"""`manifest.json`: what a pack holds, for which host it was made, and what that host brings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic import StringConstraints

from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Sha256
from assay.spec.noun import TaskName
from assay.spec.noun import Version

MANIFEST = "manifest.json"
LAUNCHER = "run"
SITE = "site"
EXTRA = "extra/site-packages"
"""What Assay itself does not need. The sandbox lets a runner read all that lies below a folder of
that name; below `site` only packages, and neither their programs nor what lies beside them."""
PROGRAMS = "bin"
COMPRESSED = "compressed"
ARCHIVE = ".tar.xz"
TASKS = "tasks"
EVIDENCE = "evidence"
NOTICE = "NOTICE"
UNPACKED = ".unpacked"
"""Ends the name of the file that says an archive was unpacked, in place of its own ending."""

PythonVersion = Annotated[str, StringConstraints(pattern=r"^3\.\d{1,2}$")]


def stays_inside(path: str) -> str:
    """The path itself; ValueError for one that could leave its folder or upset a terminal."""
    if not path.isprintable() or any(part in {"", ".", ".."} for part in path.split("/")):
        raise ValueError("a plain path inside the pack is needed")
    return path


# Wheels name files more freely than a task may, so this is wider than a source's path.
PackedPath = Annotated[str, StringConstraints(max_length=400), AfterValidator(stays_inside)]


class PackedFile(Noun):
    path: PackedPath
    sha256: Sha256
    bytes: Count


class PackedWheel(Noun):
    """A wheel whose files lie unpacked in the pack, or compressed in an archive of its own."""

    name: Name
    version: Version
    file: PackedPath
    sha256: Sha256
    bytes: Count
    """Of the wheel; unpacked it takes more."""
    restricted: Sentence | None = None
    """Its licence, where that is no open-source one: whoever holds the pack keeps it."""


class PackedArchive(Noun):
    """A wheel's files as a .tar.xz, unpacked into the pack the first time that it runs."""

    wheel: Name
    path: PackedPath
    unpacked_bytes: Count
    files: tuple[PackedFile, ...]
    """Where they are unpacked to, as paths of the pack."""

    @property
    def mark(self) -> str:
        """The file that is there once it was unpacked."""
        return self.path.removesuffix(ARCHIVE) + UNPACKED


class PackedTask(Noun):
    name: TaskName
    path: PackedPath
    task_hash: Sha256
    """As `assay task show` gives it."""


class PackedBaseline(Noun):
    """A baseline out of a wheel, in the folder of a task that travels."""

    task: TaskName
    baseline: Name
    path: PackedPath
    package: Name
    version: Version
    lock_hash: Sha256
    """Of the lock as evidence hashes it."""
    carried: bool
    """Whether its snapshot is in the pack; without it the baseline cannot run there."""
    files: Count
    bytes: Count
    """Of the snapshot."""
    requires: tuple[Sentence, ...] = ()
    """What the lock asks for, and what that asks for in turn."""
    lacks: tuple[Name, ...] = ()
    """Which of these were left out of the pack."""
    differs: tuple[Sentence, ...] = ()
    """Which of these travel in another version than was asked for."""


class HostPackage(Noun):
    """What the host is taken to have, so that it does not travel."""

    name: Name
    needed: bool
    """Whether Assay or a package beside it asks for it. What nothing asks for may be missing,
    and of what only a baseline asks for the doctor speaks."""
    least: Version | None = None
    """The oldest version that all who ask for it take."""


class Part(Noun):
    """What belongs together in a pack, as a wheel or a task, and what it takes as it travels."""

    name: Sentence
    files: Count
    bytes: Count


class Manifest(Document):
    SCHEMA = "assay.pack.1"

    assay: Version
    harness_hash: Sha256
    python: PythonVersion
    platforms: tuple[Name, ...]
    assumed: tuple[HostPackage, ...]
    paths: tuple[PackedPath, ...] = (SITE,)
    """Folders that Python imports from, in order."""
    wheels: tuple[PackedWheel, ...]
    compressed: tuple[PackedArchive, ...] = ()
    tasks: tuple[PackedTask, ...]
    baselines: tuple[PackedBaseline, ...] = ()
    parts: tuple[Part, ...] = ()
    """The largest first, without the manifest."""
    bytes: Count
    """Of all files but the manifest, as they travel."""
    files: tuple[PackedFile, ...]
    """As they travel; what an archive holds is named there."""

    @property
    def restricted(self) -> tuple[PackedWheel, ...]:
        """Wheels for which the pack is for hosts of one's own, and not to be passed on."""
        return tuple(wheel for wheel in self.wheels if wheel.restricted is not None)
