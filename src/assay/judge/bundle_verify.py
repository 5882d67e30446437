"""Verify: a bundle read without believing it; every number that it states is worked out again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from assay.device.environment import harness_hash
from assay.judge.bundle import ENVIRONMENT
from assay.judge.bundle import MANIFEST
from assay.judge.bundle import PROVENANCE
from assay.judge.bundle import ROW_LINES
from assay.judge.bundle import RULES
from assay.judge.bundle import VERDICT_LINE
from assay.judge.bundle import Manifest
from assay.judge.bundle import copy_of
from assay.judge.bundle import samples_path
from assay.judge.bundle_archive import LARGEST_ARCHIVE
from assay.judge.bundle_archive import ArchiveError
from assay.judge.bundle_archive import unpack
from assay.judge.bundle_numbers import Evidence
from assay.judge.bundle_numbers import number_problems
from assay.judge.bundle_sources import Sources
from assay.judge.bundle_sources import read_sources
from assay.judge.evidence import ROW_VERDICT
from assay.judge.evidence import TASK_VERDICT
from assay.ledger import Row
from assay.ledger import Samples
from assay.ledger.line import LineError
from assay.ledger.line import parse_line
from assay.spec.documents import parse_document
from assay.spec.documents import read_document_bytes
from assay.spec.environment import Provenance
from assay.spec.errors import AssayError
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Document
from assay.spec.noun import Noun
from assay.spec.noun import sha256_hex
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Rules
from assay.spec.verdict import TaskVerdict

_D = TypeVar("_D", bound=Document)

_VERDICT_KEYS = frozenset({"schema", *TaskVerdict.model_fields})
# 1,600 samples are 50 kB of text; a row of more than this was not written by a judge.
_LONGEST_SAMPLES = 8 << 20


class BundleReport(Noun):
    """`remarks` weaken nothing by themselves; any of `problems` means that the claim fails."""

    path: str
    claim: TaskVerdict | None = None
    """What the bundle says; to be believed only as far as there are no problems."""
    verdict_hash: str | None = None
    entries: Count = 0
    recomputed: Count = 0
    """Row-verdicts that were worked out again from their samples."""
    remarks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class OpenBundle:
    """A bundle whose claim holds together, as nouns."""

    entries: Mapping[str, bytes]
    verdict: Row
    claim: TaskVerdict
    provenance: Provenance
    rules: Rules


def verify_bundle(path: Path) -> BundleReport:
    """Check every byte of a bundle, and compute its claim again from its samples."""
    return verify_bytes(_read(path), quote(path))


def verify_bytes(data: bytes, name: str) -> BundleReport:
    """The same for a bundle in memory."""
    check = _Check(data)
    return BundleReport(
        path=name,
        claim=check.claim,
        verdict_hash=check.verdict.hash if check.verdict else None,
        entries=len(check.entries),
        recomputed=check.recomputed,
        remarks=tuple(check.remarks),
        problems=tuple(check.problems),
    )


def open_bundle(path: Path) -> OpenBundle:
    """A bundle that verifies; EvidenceError names the first problem of one that does not."""
    check = _Check(_read(path))
    if check.problems:
        raise EvidenceError(
            check.problems[0],
            where=quote(path),
            next_step="assay bundle verify names every problem",
        )
    assert check.verdict is not None
    assert check.claim is not None
    assert check.provenance is not None
    assert check.rules is not None
    return OpenBundle(check.entries, check.verdict, check.claim, check.provenance, check.rules)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_ARCHIVE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=quote(path)) from None


class _Check:
    """Works through one archive; a part that cannot be read leaves those that rest on it out."""

    def __init__(self, data: bytes) -> None:
        self.entries: Mapping[str, bytes] = {}
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self.verdict: Row | None = None
        self.claim: TaskVerdict | None = None
        self.provenance: Provenance | None = None
        self.rules: Rules | None = None
        self.recomputed = 0
        self._expected = {MANIFEST, VERDICT_LINE, ROW_LINES, PROVENANCE, ENVIRONMENT, RULES}
        try:
            archive = unpack(data)
        except ArchiveError as error:
            self.problems.append(str(error))
        else:
            self.entries = archive.entries
            self._run(archive.fault)

    def _run(self, fault: str | None) -> None:
        manifest = self._manifest()
        self._read_verdict(manifest)
        sources = self._sources()
        evidence = self._evidence()
        self._strangers()
        # Numbers are worked out only from bytes that are what they are said to be.
        if sources and evidence is not None and not self.problems:
            self._numbers(sources, evidence)
        if fault is not None and not self.problems:
            self.problems.append(fault)
        if self.provenance is not None and self.claim is not None:
            self._remark(self.provenance, self.claim)

    # -- the manifest

    def _manifest(self) -> Manifest | None:
        manifest = self._document(MANIFEST, Manifest)
        if manifest is None:
            return None
        listed = {entry.path: entry for entry in manifest.entries}
        for path in sorted({*listed, *self.entries} - {MANIFEST}):
            data = self.entries.get(path)
            if data is None:
                self._problem(path, "in the manifest, but not in the bundle")
            elif path not in listed:
                self._problem(path, "in the bundle, but not in the manifest")
            elif (sha256_hex(data), len(data)) != (listed[path].sha256, listed[path].bytes):
                self._problem(path, "not the bytes that the manifest seals")
        return manifest

    def _strangers(self) -> None:
        for path in sorted(set(self.entries) - self._expected):
            self._problem(path, "an entry that nothing in the bundle refers to")

    # -- the verdict and what was copied out of it

    def _read_verdict(self, manifest: Manifest | None) -> None:
        self.verdict = row = self._row(VERDICT_LINE, self._entry(VERDICT_LINE), TASK_VERDICT)
        if row is None:
            return
        if manifest is not None and manifest.verdict != row.hash:
            self._problem(MANIFEST, f"names verdict {manifest.verdict[:12]}, not {row.id}")
        stated = {key: value for key, value in row.body.items() if key in _VERDICT_KEYS}
        try:
            self.claim = parse_document(stated, TaskVerdict, VERDICT_LINE)
            self.provenance = parse_document(
                row.body.get("provenance"), Provenance, f"{VERDICT_LINE}: key provenance"
            )
        except AssayError as error:
            self.problems.append(str(error))
            return
        if self.provenance.task != self.claim.task:
            self._problem(VERDICT_LINE, "verdict and provenance name different tasks")
        self._copy(PROVENANCE, self.provenance)
        self._copy(ENVIRONMENT, self.provenance.environment)
        self.rules = self._document(RULES, Rules)

    def _copy(self, path: str, document: Document) -> None:
        if self._entry(path) not in (None, copy_of(document)):
            self._problem(path, "not what the verdict's own row says")

    # -- sources

    def _sources(self) -> Sources | None:
        if self.provenance is None:
            return None
        reading = read_sources(self.entries, self.provenance)
        self._expected |= reading.used
        self.problems += reading.problems
        return reading.sources

    # -- rows and samples

    def _evidence(self) -> list[Evidence] | None:
        """Every measured row with its samples; None when any of them cannot be read."""
        lines = self._entry(ROW_LINES)
        if self.verdict is None or lines is None:
            return None
        read = [
            self._row(f"{ROW_LINES}:{number}", raw, ROW_VERDICT)
            for number, raw in enumerate(lines.splitlines(keepends=True), start=1)
        ]
        rows = [row for row in read if row is not None]
        if [row.hash for row in rows] != self.verdict.body.get("evidence"):
            self._problem(ROW_LINES, "not the rows that the verdict rests on, in its order")
            return None
        pairs = [(row, self._samples(row)) for row in rows]
        found = [Evidence(row, samples) for row, samples in pairs if samples is not None]
        return found if len(found) == len(read) else None

    def _samples(self, row: Row) -> Samples | None:
        path = samples_path(row.hash)
        self._expected.add(path)
        member = self._entry(path)
        if member is None:
            return None
        if row.samples is None or (sha256_hex(member), len(member)) != (
            row.samples.sha256,
            row.samples.bytes,
        ):
            self._problem(path, f"not the samples that row {row.id} was written with")
            return None
        try:
            return Samples.from_member(member, _LONGEST_SAMPLES)
        except EvidenceError as error:
            self._problem(path, str(error))
            return None

    def _numbers(self, sources: Sources, evidence: list[Evidence]) -> None:
        assert self.claim is not None
        assert self.rules is not None
        self.recomputed = len(evidence)
        self.problems += number_problems(self.claim, evidence, sources, self.rules)

    def _remark(self, provenance: Provenance, claim: TaskVerdict) -> None:
        if provenance.harness_hash != harness_hash():
            self.remarks.append(
                f"judged by assay {provenance.environment.assay}, sources "
                f"{provenance.harness_hash[:12]}; this is {harness_hash()[:12]}"
            )
        if not claim.verdict.is_timed:
            self.remarks.append(f"{claim.verdict} is not in any samples; only a replay can show it")
        if claim.verdict.is_timed and claim.unclear:
            self.remarks.append(f"{claim.unclear} of the rows are unclear")
        usual = DEFAULT_RULES.content()
        for key, value in (self.rules or DEFAULT_RULES).content().items():
            if value != usual[key]:
                self.remarks.append(f"judged with {key} {value}, where {usual[key]} is usual")

    # -- small things

    def _entry(self, path: str) -> bytes | None:
        data = self.entries.get(path)
        if data is None:
            self._problem(path, "missing")
        return data

    def _document(self, path: str, kind: type[_D]) -> _D | None:
        data = self._entry(path)
        if data is None:
            return None
        try:
            document = read_document_bytes(data, Path(path), kind)
        except AssayError as error:
            self.problems.append(str(error))
            return None
        if copy_of(document) != data:
            self._problem(path, "not in the one spelling that assay writes")
        return document

    def _row(self, where: str, raw: bytes | None, kind: str) -> Row | None:
        if raw is None:
            return None
        try:
            row = Row.from_line("bundle", parse_line(raw))
        except LineError as error:
            self._problem(where, str(error))
            return None
        if row.kind != kind:
            self._problem(where, f"a row of kind {row.kind}, not {kind}")
            return None
        return row

    def _problem(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {quote(what)}")
