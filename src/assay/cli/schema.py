"""`assay schema`: the JSON Schema of every document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.judge.bundle import Manifest as BundleManifest
from assay.pack.manifest import Manifest as PackManifest
from assay.redteam.attack import AttackFile
from assay.redteam.attack import TwinFile
from assay.spec.noun import Document
from assay.spec.schema import DOCUMENTS
from assay.spec.schema import write_schemas
from assay.task.admission import Admission
from assay.task.freeze import Freeze

EVERY_DOCUMENT: tuple[type[Document], ...] = (
    *DOCUMENTS,
    Admission,
    Freeze,
    BundleManifest,
    PackManifest,
    AttackFile,
    TwinFile,
)


def schema(folder: Annotated[Path, typer.Argument(help="Where to write the files.")]) -> None:
    """Write the JSON Schema of every document that Assay reads or writes."""
    for path in write_schemas(folder, EVERY_DOCUMENT):
        print(path)
