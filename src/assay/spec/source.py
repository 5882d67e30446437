"""Source files: paths that cannot leave their folder, sealed by hash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator
from pydantic import StringConstraints

from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import Sha256
from assay.spec.noun import canonical_json
from assay.spec.noun import sha256_hex


def _stays_inside(path: str) -> str:
    if any(part in {"", ".", ".."} for part in path.split("/")):
        raise ValueError("a path relative to its folder, without . or .., is needed")
    return path


RelativePath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*$", max_length=240),
    AfterValidator(_stays_inside),
]


class SourceFile(Noun):
    path: RelativePath
    sha256: Sha256
    bytes: Count


def joint_hash(files: Iterable[SourceFile]) -> str:
    """One hash over the bytes of many files, whatever their order."""
    return sha256_hex(canonical_json({file.path: file.sha256 for file in files}))
