"""Making a bundle: a verdict's rows out of the ledger, its sources off the disk, by hash."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.judge.bundle import SOLUTION_FILE
from assay.judge.bundle import SUFFIX
from assay.judge.bundle import Claim
from assay.judge.bundle import seal_claim
from assay.judge.bundle_verify import BundleReport
from assay.judge.bundle_verify import verify_bytes
from assay.judge.evidence import ROW_VERDICT
from assay.judge.evidence import TASK_VERDICT
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger.line import LineError
from assay.ledger.line import claimed_hash
from assay.ledger.line import parse_line
from assay.ledger.segment import refuse
from assay.ledger.storage import refusal_explained
from assay.ledger.storage import write_new
from assay.spec.baseline import ReferenceBaseline
from assay.spec.documents import parse_document
from assay.spec.environment import Provenance
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import SHIMS
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Rules
from assay.task.files import read_inside
from assay.task.freeze import LARGEST_DEFINING_FILE
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import load_baseline
from assay.task.load import load_solution
from assay.task.load import load_task


def make_bundle(
    ledger: Ledger,
    row_id: str,
    target: Path | None = None,
    *,
    task: str | Path | None = None,
    folders: Sequence[Path] = (),
) -> BundleReport:
    """Write one file that holds the claim of a task-verdict row, after verifying it.

    The task is found by its name unless given; `folders` are solutions outside the task's own.
    """
    row = ledger.find(row_id)
    if row.kind != TASK_VERDICT:
        raise UsageError(f"row {row.id} is a {row.kind}, and a bundle holds a {TASK_VERDICT}")
    data = seal_claim(_claim(ledger, row, task, folders))
    path = target or Path(f"{str(row.body['task']).replace('/', '-')}-{row.id}{SUFFIX}")
    report = verify_bytes(data, quote(path))
    if not report.ok:
        raise EvidenceError(
            f"the claim does not hold: {report.problems[0]}",
            where=f"row {row.id}",
            next_step="run assay ledger verify",
        )
    _write(path, data)
    return report


def _claim(ledger: Ledger, row: Row, address: str | Path | None, folders: Sequence[Path]) -> Claim:
    provenance = parse_document(row.body.get("provenance"), Provenance, f"row {row.id}: provenance")
    task = _task(provenance, address)
    evidence = _evidence(row)
    lines = _lines(ledger, [row.hash, *evidence])
    rows = [_parsed(lines[digest]) for digest in evidence]
    return Claim(
        task={file.path: _defining(task, file.path) for file in task.files},
        baseline=_solution("baseline", provenance.baseline_hash, task, folders),
        candidate=_solution("candidate", provenance.candidate_hash, task, folders),
        verdict_hash=row.hash,
        verdict_line=lines[row.hash][1],
        row_lines=tuple(lines[digest][1] for digest in evidence),
        samples={measured.hash: ledger.member(measured) for measured in rows},
        provenance=provenance,
        rules=_rules(rows),
    )


# -- the ledger


def _evidence(row: Row) -> list[str]:
    """The hashes of the rows that a verdict rests on."""
    evidence = row.body.get("evidence")
    if not isinstance(evidence, list) or not all(isinstance(part, str) for part in evidence):
        raise EvidenceError(f"row {row.id} does not say which rows it rests on")
    return evidence


def _lines(ledger: Ledger, hashes: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    """The exact line of each row, with the segment that it stands in."""
    wanted = set(hashes)
    found: dict[str, tuple[str, bytes]] = {}
    for segment in ledger.segments():
        for number, raw in enumerate(segment.raw_lines(), start=1):
            digest = claimed_hash(raw)
            if digest in wanted and digest not in found:
                try:
                    parse_line(raw)
                except LineError as error:
                    refuse(segment.rows_path, number, error)
                found[digest] = (segment.name, raw)
    for digest in hashes:
        if digest not in found:
            raise EvidenceError(
                f"row {quote(digest)[:12]}, which the verdict rests on, is not here",
                where=quote(ledger.path),
                next_step="merge the ledger that it was written to",
            )
    return found


def _parsed(line: tuple[str, bytes]) -> Row:
    segment, raw = line
    row = Row.from_line(segment, parse_line(raw))
    if row.kind != ROW_VERDICT or row.samples is None:
        raise EvidenceError(f"row {row.id}, which the verdict rests on, holds no samples")
    return row


def _rules(rows: Sequence[Row]) -> Rules:
    """A verdict without measured rows rests on no rule; the usual ones are for its replay."""
    if not rows:
        return DEFAULT_RULES
    return parse_document(rows[0].body.get("rules"), Rules, f"row {rows[0].id}: rules")


# -- the disk


def _task(provenance: Provenance, address: str | Path | None) -> TaskFolder:
    task = load_task(provenance.task if address is None else address)
    if task.content_hash != provenance.task_hash:
        raise UsageError(
            f"the task is not the one that was judged: hash {task.content_hash[:12]}, "
            f"the verdict has {provenance.task_hash[:12]}",
            where=quote(task.path),
            next_step="restore it, name the right folder with --task, or judge again",
        )
    return task


def _defining(task: TaskFolder, name: str) -> bytes:
    return read_inside(task.path, name, LARGEST_DEFINING_FILE)


def _solution(
    side: str, wanted: str, task: TaskFolder, folders: Sequence[Path]
) -> Mapping[str, bytes]:
    for load in _known(task, folders):
        loaded = _loaded(load)
        if loaded is not None and loaded.content_hash == wanted:
            return {SOLUTION_FILE: read_inside(loaded.folder, SOLUTION_FILE), **_own(loaded)}
    raise UsageError(
        f"the sources of the {side} that was judged, {wanted[:12]}, are not here: "
        "changed since, or elsewhere",
        where=task.task.name,
        next_step="name their folder with --source, or judge again",
    )


def _own(loaded: LoadedSolution) -> dict[str, bytes]:
    """All sources but those out of a wheel: these are not ours to pass on, and the lock says which
    they are."""
    if loaded.lock is None:
        return dict(loaded.sources)
    shims = {shim.file.path for shim in loaded.lock.shims}
    return {
        **{file.path: loaded.sources[file.path] for file in loaded.sealed.files},
        **{f"{SHIMS}/{path}": loaded.sources[path] for path in shims},
    }


def _known(task: TaskFolder, folders: Sequence[Path]) -> Iterator[Callable[[], LoadedSolution]]:
    for folder in folders:
        yield partial(load_solution, folder)
    for baseline in task.task.baselines:
        if not isinstance(baseline, ReferenceBaseline):
            yield partial(load_baseline, task, baseline.name)
    for name in task.solution_names:
        yield partial(load_solution, task.path / "solutions" / name)


def _loaded(load: Callable[[], LoadedSolution]) -> LoadedSolution | None:
    """A solution that cannot be read is not the one that was judged."""
    try:
        return load()
    except UsageError:
        return None


def _write(path: Path, data: bytes) -> None:
    if path.exists():
        raise UsageError("there is such a file already", where=quote(path), next_step="give --to")
    with refusal_explained("write the bundle", path):
        try:
            write_new(path, data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
