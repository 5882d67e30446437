"""Admission: the proof that a task can fail, kept with the task and bound to its hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.spec.documents import read_document
from assay.spec.errors import StorageError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Name
from assay.spec.noun import Noun
from assay.spec.noun import Sentence
from assay.spec.noun import Sha256
from assay.spec.noun import Symbol
from assay.spec.noun import TaskName
from assay.task.load import TaskFolder
from assay.task.load import load_baseline

ADMISSION_FILE = "evidence/admission.json"


class MutantFate(Noun):
    """What became of one mutant of the reference."""

    function: Symbol
    mutant: Name
    killed_by: dict[Name, Name] = Field(default_factory=dict)
    """Row by row, the first distribution that told it from the reference."""
    survived: tuple[Name, ...] = ()
    """Rows on which no distribution did."""
    equivalent: Sentence | None = None
    """The declared reason why no input can."""


class Admission(Document):
    """`evidence/admission.json`."""

    SCHEMA = "assay.admission.1"

    task: TaskName
    task_hash: Sha256
    baseline_hash: Sha256
    admitted: bool
    mutants: tuple[MutantFate, ...]
    idle_inputs: tuple[Sentence, ...] = ()
    """Inputs that change nothing."""
    flat_axes: tuple[Sentence, ...] = ()
    """Output axes along which nothing varies."""
    killed: Count
    declared_equivalent: Count
    survivors: Annotated[tuple[Sentence, ...], Field()] = ()


def admission_of(task: TaskFolder) -> Admission | None:
    """The task's admission, if there is one and it is about the task as it is now."""
    path = task.path / ADMISSION_FILE
    if not path.is_file():
        return None
    admission = read_document(path, Admission)
    current = (task.content_hash, load_baseline(task).content_hash)
    matches = (admission.task_hash, admission.baseline_hash) == current
    return admission if matches and admission.admitted else None


def write_admission(task: TaskFolder, admission: Admission) -> Path:
    path = task.path / ADMISSION_FILE
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(admission.content(), indent=1) + "\n")
    except OSError as error:
        raise StorageError(
            f"cannot be written: {error.strerror}",
            where=quote(path),
            next_step="copy the task's folder to where you may write, and admit it there",
        ) from None
    return path
