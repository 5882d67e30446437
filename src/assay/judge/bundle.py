"""Bundle: a claim in one file, with all that it takes to check it and to measure it again.

manifest.json             path, size and SHA-256 of every other entry; the verdict's row
task/                     task.toml, workloads.json, reference.py
baseline/, candidate/     solution.toml and the sources that it names
ledger/verdict.jsonl      the task-verdict row, its exact line
ledger/rows.jsonl         the row-verdicts that it rests on, in its order
ledger/samples/ID.gz      the raw samples of each of them, as they lie in the ledger
provenance.json, environment.json, rules.json
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.judge.bundle_archive import LARGEST_ARCHIVE
from assay.judge.bundle_archive import LONGEST_PATH
from assay.judge.bundle_archive import MOST_ENTRIES
from assay.judge.bundle_archive import pack
from assay.spec.environment import Provenance
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Document
from assay.spec.noun import Sha256
from assay.spec.noun import canonical_json
from assay.spec.noun import sha256_hex
from assay.spec.rules import Rules
from assay.spec.source import SourceFile

SUFFIX = ".assay"
MANIFEST = "manifest.json"
TASK, BASELINE, CANDIDATE = "task", "baseline", "candidate"
TASK_FILES = ("task.toml", "workloads.json", "reference.py")
SOLUTION_FILE = "solution.toml"
VERDICT_LINE = "ledger/verdict.jsonl"
ROW_LINES = "ledger/rows.jsonl"
PROVENANCE, ENVIRONMENT, RULES = "provenance.json", "environment.json", "rules.json"


class Manifest(Document):
    """`manifest.json`: what a bundle holds, and which row of the ledger it is about."""

    SCHEMA = "assay.bundle.1"

    verdict: Sha256
    entries: tuple[SourceFile, ...]


@dataclass(frozen=True)
class Claim:
    """What goes into a bundle: bytes as they were read, and the nouns that are copied out."""

    task: Mapping[str, bytes]
    baseline: Mapping[str, bytes]
    candidate: Mapping[str, bytes]
    verdict_hash: str
    verdict_line: bytes
    row_lines: tuple[bytes, ...]
    samples: Mapping[str, bytes]
    """The compressed samples by the hash of their row."""
    provenance: Provenance
    rules: Rules


def samples_path(row_hash: str) -> str:
    return f"ledger/samples/{row_hash}.gz"


def copy_of(document: Document) -> bytes:
    """A document as a bundle writes it beside the row that it was taken from."""
    return canonical_json(document.content()) + b"\n"


def seal_claim(claim: Claim) -> bytes:
    """The bytes of the bundle; equal claims give equal bytes."""
    entries = {
        **_under(TASK, claim.task),
        **_under(BASELINE, claim.baseline),
        **_under(CANDIDATE, claim.candidate),
        VERDICT_LINE: claim.verdict_line,
        ROW_LINES: b"".join(claim.row_lines),
        **{samples_path(row_hash): member for row_hash, member in claim.samples.items()},
        PROVENANCE: copy_of(claim.provenance),
        ENVIRONMENT: copy_of(claim.provenance.environment),
        RULES: copy_of(claim.rules),
    }
    _check_size(entries)
    sealed = tuple(
        SourceFile(path=path, sha256=sha256_hex(data), bytes=len(data))
        for path, data in sorted(entries.items())
    )
    manifest = Manifest(verdict=claim.verdict_hash, entries=sealed)
    return pack({**entries, MANIFEST: copy_of(manifest)})


def _under(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{path}": data for path, data in files.items()}


def _check_size(entries: Mapping[str, bytes]) -> None:
    for path in entries:
        if len(path) > LONGEST_PATH:
            raise UsageError(f"a path of {len(path)} characters is too long", where=quote(path))
    if sum(map(len, entries.values())) > LARGEST_ARCHIVE * 3 // 4 or len(entries) >= MOST_ENTRIES:
        raise UsageError(
            f"this is more than a bundle holds: {len(entries)} files, "
            f"{sum(map(len, entries.values()))} bytes"
        )
