"""Verification: every file of a pack against its manifest, and every snapshot against its lock."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from assay.pack.manifest import EVIDENCE
from assay.pack.manifest import MANIFEST
from assay.pack.manifest import Manifest
from assay.pack.manifest import PackedBaseline
from assay.pack.manifest import PackedFile
from assay.spec.documents import parse_document
from assay.spec.documents import read_document
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SNAPSHOT
from assay.spec.lock import BaselineLock
from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import sha256_hex


class PackReport(Noun):
    path: str
    files: Count
    bytes: Count
    problems: tuple[Sentence, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(folder: Path) -> PackReport:
    """Read every byte of a pack and name each file that is not what its manifest says.

    What travels compressed is looked at where it was unpacked, if it was.
    """
    manifest = read_manifest(folder)
    unpacked = (a.files for a in manifest.compressed if (folder / a.mark).exists())
    files = (*manifest.files, *(file for each in unpacked for file in each))
    changed = (_problem(folder, file) for file in files)
    locks = (_lock_problem(folder, manifest, each) for each in manifest.baselines)
    added = (
        f"{quote(path)}: not in the manifest"
        for path in foreign_files(folder, manifest)
        if path.split("/")[0] != EVIDENCE
    )
    return PackReport(
        path=str(folder),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        problems=(*filter(None, changed), *filter(None, locks), *added),
    )


def read_manifest(folder: Path) -> Manifest:
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"no pack: there is no {MANIFEST}", where=quote(folder))
    return read_document(folder / MANIFEST, Manifest)


def foreign_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Files that were added later; what Python compiles for itself is not counted."""
    known = {MANIFEST, *(file.path for file in manifest.files)}
    for archive in manifest.compressed:
        known |= {archive.mark, *(file.path for file in archive.files)}
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


def _lock_problem(folder: Path, manifest: Manifest, packed: PackedBaseline) -> str | None:
    """What the manifest says of a baseline against the lock that lies there."""
    path = f"{packed.path}/{LOCK_FILE}"
    where = quote(path)
    try:
        lock = parse_document(json.loads((folder / path).read_bytes()), BaselineLock, where)
    except OSError as error:
        return f"{where}: {error.strerror}"
    except (UsageError, ValueError) as error:
        return f"{where}: {quote(error)}"
    if sha256_hex(lock.canonical()) != packed.lock_hash:
        return f"{where}: not the lock that was packed"
    here = {file.path: file.sha256 for file in manifest.files}
    below = f"{packed.path}/{SNAPSHOT}"
    other = [f for f in lock.files if here.get(f"{below}/{f.path}") != f.sha256]
    if packed.carried and other:
        return f"{below}/{other[0].path}: not the file that the lock names"
    return None
