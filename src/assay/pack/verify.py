"""Verification: every file of a pack against its manifest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from assay.pack.manifest import EVIDENCE
from assay.pack.manifest import MANIFEST
from assay.pack.manifest import Manifest
from assay.pack.manifest import PackedFile
from assay.spec.documents import read_document
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Sentence


class PackReport(Noun):
    path: str
    files: Count
    bytes: Count
    problems: tuple[Sentence, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(folder: Path) -> PackReport:
    """Read every byte of a pack and name each file that is not what its manifest says."""
    manifest = read_manifest(folder)
    changed = (_problem(folder, file) for file in manifest.files)
    added = (
        f"{quote(path)}: not in the manifest"
        for path in foreign_files(folder, manifest)
        if path.split("/")[0] != EVIDENCE
    )
    return PackReport(
        path=str(folder),
        files=len(manifest.files),
        bytes=manifest.bytes,
        problems=(*filter(None, changed), *added),
    )


def read_manifest(folder: Path) -> Manifest:
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"no pack: there is no {MANIFEST}", where=quote(folder))
    return read_document(folder / MANIFEST, Manifest)


def foreign_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Files that were added later; what Python compiles for itself is not counted."""
    known = {MANIFEST, *(file.path for file in manifest.files)}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = (Path(parent) / name).relative_to(folder).as_posix()
            if path not in known:
                yield path


def _problem(folder: Path, file: PackedFile) -> str | None:
    where = quote(file.path)
    try:
        with (folder / file.path).open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        return f"{where}: {error.strerror}"
    if size != file.bytes:
        return f"{where}: {size} bytes, and {file.bytes} were packed"
    return None if digest == file.sha256 else f"{where}: not the bytes that were packed"
