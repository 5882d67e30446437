"""Importing: whatever form a task has, told or recognised."""

from __future__ import annotations

from pathlib import Path

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange.flashinfer import import_flashinfer
from assay.task.exchange.form import Form
from assay.task.exchange.form import recognise
from assay.task.exchange.imported import Imported
from assay.task.exchange.kda import import_kda
from assay.task.exchange.kernelbench import import_kernelbench

_IMPORTERS = {
    Form.KERNELBENCH: import_kernelbench,
    Form.FLASHINFER: import_flashinfer,
    Form.KDA: import_kda,
}


def import_from(source: Path, into: Path, form: Form | None = None) -> Imported:
    """The task in its new folder; nothing is left there where it cannot be made."""
    if not source.exists():
        raise UsageError("there is no such file or folder", where=quote(source))
    return _IMPORTERS[form or recognise(source)](source, into)
