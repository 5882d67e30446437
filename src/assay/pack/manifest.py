"""`manifest.json`: what a pack holds, for which host it was made, and what that host brings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator
from pydantic import StringConstraints

from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sha256
from assay.spec.noun import TaskName
from assay.spec.noun import Version

MANIFEST = "manifest.json"
LAUNCHER = "run"
SITE = "site"
TASKS = "tasks"
EVIDENCE = "evidence"

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
    """A wheel whose files lie unpacked in `site/`."""

    name: Name
    version: Version
    file: PackedPath
    sha256: Sha256
    bytes: Count
    """Of the wheel; unpacked it takes more."""


class PackedTask(Noun):
    name: TaskName
    path: PackedPath
    task_hash: Sha256
    """As `assay task show` gives it."""


class HostPackage(Noun):
    """What the host is taken to have, so that it does not travel."""

    name: Name
    needed: bool
    """Whether anything in the pack asks for it; what nothing asks for may be missing."""
    least: Version | None = None
    """The oldest version that all who ask for it take."""


class Manifest(Document):
    SCHEMA = "assay.pack.1"

    assay: Version
    harness_hash: Sha256
    python: PythonVersion
    platforms: tuple[Name, ...]
    assumed: tuple[HostPackage, ...]
    wheels: tuple[PackedWheel, ...]
    tasks: tuple[PackedTask, ...]
    bytes: Count
    """Of all files but the manifest."""
    files: tuple[PackedFile, ...]
