"""`assay schema`: the JSON Schema of every document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.spec.schema import write_schemas


def schema(folder: Annotated[Path, typer.Argument(help="Where to write the files.")]) -> None:
    """Write the JSON Schema of every document that Assay reads or writes."""
    for path in write_schemas(folder):
        print(path)
