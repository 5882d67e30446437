"""The sources in a bundle: read as the task's loader reads a folder, and hashed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from assay.judge.bundle import BASELINE
from assay.judge.bundle import CANDIDATE
from assay.judge.bundle import SOLUTION_FILE
from assay.judge.bundle import TASK
from assay.judge.bundle import TASK_FILES
from assay.spec.binding import check_rows
from assay.spec.documents import parse_document
from assay.spec.documents import read_document_bytes
from assay.spec.environment import Provenance
from assay.spec.errors import AssayError
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SHIMS
from assay.spec.lock import BaselineLock
from assay.spec.noun import sha256_hex
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.source import joint_hash
from assay.spec.task import Task
from assay.spec.workload import Workloads


@dataclass(frozen=True)
class Sources:
    task: Task
    workloads: Workloads


@dataclass
class SourceReading:
    """What the sources are, what is wrong with them, and which entries they are."""

    sources: Sources | None = None
    problems: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def read_sources(entries: Mapping[str, bytes], provenance: Provenance) -> SourceReading:
    """Task, baseline and candidate, each held against its hash in the provenance."""
    reading = SourceReading()
    _read_task(entries, provenance, reading)
    for folder, wanted in (
        (BASELINE, provenance.baseline_hash),
        (CANDIDATE, provenance.candidate_hash),
    ):
        _read_solution(entries, folder, wanted, reading)
    return reading


def _read_task(
    entries: Mapping[str, bytes], provenance: Provenance, reading: SourceReading
) -> None:
    files = _sealed(entries, TASK, TASK_FILES, reading)
    if files is None:
        return
    if joint_hash(files) != provenance.task_hash:
        reading.problems.append(f"{TASK}: not the task {provenance.task_hash[:12]} that was judged")
    where = Path(TASK) / "workloads.json"
    try:
        task = read_document_bytes(entries[f"{TASK}/task.toml"], Path(TASK) / "task.toml", Task)
        workloads = read_document_bytes(entries[str(where)], where, Workloads)
        check_rows(task, workloads, str(where))
    except AssayError as error:
        reading.problems.append(str(error))
        return
    if task.name != provenance.task:
        reading.problems.append(f"{TASK}/task.toml: not called {provenance.task}")
    reading.sources = Sources(task, workloads)


def _read_solution(
    entries: Mapping[str, bytes], folder: str, wanted: str, reading: SourceReading
) -> None:
    document = f"{folder}/{SOLUTION_FILE}"
    reading.used.add(document)
    if document not in entries:
        reading.problems.append(f"{document}: missing")
        return
    try:
        solution = read_document_bytes(entries[document], Path(document), Solution)
    except AssayError as error:
        reading.problems.append(str(error))
        return
    locked = f"{folder}/{LOCK_FILE}" in entries
    names = (*solution.sources, LOCK_FILE) if locked else solution.sources
    files = _sealed(entries, folder, names, reading)
    if files is None:
        return
    if locked:
        _read_shims(entries, folder, reading)
    if SealedSolution(solution=solution, files=files).content_hash != wanted:
        reading.problems.append(f"{folder}: not the solution {wanted[:12]} that was judged")


def _read_shims(entries: Mapping[str, bytes], folder: str, reading: SourceReading) -> None:
    """Of a baseline out of a wheel: what stands in for some of the wheel's files, by the lock."""
    path = f"{folder}/{LOCK_FILE}"
    try:
        lock = parse_document(json.loads(entries[path]), BaselineLock, path)
    except (AssayError, ValueError, RecursionError) as error:
        reading.problems.append(f"{path}: {error}")
        return
    names = {shim.file: f"{SHIMS}/{shim.file.path}" for shim in lock.shims}
    found = _sealed(entries, folder, tuple(names.values()), reading) or ()
    for (locked, name), file in zip(names.items(), found, strict=False):
        if (file.sha256, file.bytes) != (locked.sha256, locked.bytes):
            reading.problems.append(f"{folder}/{name}: not the file that the lock names")


def _sealed(
    entries: Mapping[str, bytes], folder: str, names: tuple[str, ...], reading: SourceReading
) -> tuple[SourceFile, ...] | None:
    """The named files of a folder by hash, or None if any is missing."""
    paths = {name: f"{folder}/{name}" for name in names}
    reading.used.update(paths.values())
    missing = [path for path in paths.values() if path not in entries]
    reading.problems += [f"{path}: missing" for path in missing]
    if missing:
        return None
    return tuple(
        SourceFile(path=name, sha256=sha256_hex(entries[path]), bytes=len(entries[path]))
        for name, path in paths.items()
    )
