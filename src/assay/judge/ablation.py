"""Ablation: the candidate without one of its kernels, through the same build and the same exam.

Where every answer is still right and the place is reached, the kernel is not needed: a decoy. It
is reported, never refused: a kernel may serve something else than the answer.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from assay.device.failure import ProcessFailure
from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.judge.ablation_native import native_sites
from assay.judge.ablation_python import python_sites
from assay.judge.ablation_site import Suspect
from assay.judge.ablation_site import suspects
from assay.judge.build import build
from assay.judge.build import flags_for
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.exam import Examiner
from assay.judge.exam import Question
from assay.judge.exam import questions
from assay.judge.oracle import Oracle
from assay.spec.ablation import Ablation
from assay.spec.ablation import Decoy
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex
from assay.spec.solution import Language
from assay.spec.solution import SealedSolution
from assay.spec.source import SourceFile
from assay.spec.workload import Row

MOST_KERNELS = 8
MOST_SECONDS = 180.0
"""After so long no further kernel is tried."""
_MOST_FOUND = 200

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Bench:
    """What an ablation needs of a judgement that is under way."""

    case: Case
    device: RunnerDevice
    oracle: Oracle
    baseline: Program
    tell: Tell = lambda done, of, what: None


def suspects_of(contender: Contender) -> list[Suspect]:
    """All kernels that are found in the sources, launched ones before called ones."""
    language = contender.solution.language
    if language in {Language.CPP, Language.CUDA}:
        cuda = language is Language.CUDA
        found = native_sites(contender.sources, _MOST_FOUND, cuda=cuda)
    else:
        python = {path: c for path, c in contender.sources.items() if path.endswith(".py")}
        found = python_sites(python, _MOST_FOUND)
    return suspects(found)


def ablate(bench: Bench) -> Ablation:
    """Leave out one kernel after the other, at most MOST_KERNELS."""
    begun = time.monotonic()
    found = suspects_of(bench.case.candidate)
    counts: Counter[str] = Counter()
    decoys: list[Decoy] = []
    if found:
        with bench.device.start(bench.baseline) as baseline:
            for number, suspect in enumerate(found[:MOST_KERNELS]):
                if time.monotonic() - begun > MOST_SECONDS:
                    break
                bench.tell(number, min(len(found), MOST_KERNELS), quote(suspect.kernel))
                outcome = _tried(bench, baseline, suspect)
                counts[outcome] += 1
                if outcome == _DECOY:
                    where = quote(suspect.where)
                    decoys.append(Decoy(kernel=quote(suspect.kernel), where=where))
    return Ablation(
        kernels=len(found),
        tried=counts.total(),
        needed=counts[_NEEDED],
        not_reached=counts[_NOT_REACHED],
        not_built=counts[_NOT_BUILT],
        decoys=tuple(decoys),
        seconds=time.monotonic() - begun,
    )


_NEEDED, _NOT_REACHED, _NOT_BUILT, _DECOY = "needed", "not reached", "not built", "decoy"


def _tried(bench: Bench, baseline: RunnerProcess, suspect: Suspect) -> str:
    """What is known of a kernel once it was left out."""
    sources = bench.case.candidate.sources
    few, every = _asked(bench.case)
    without = variant(bench.case.candidate, suspect.left_out(sources))
    try:
        if not _passes(bench, baseline, without, few):
            return _NEEDED
        # One row may have no use for it and another may: now the whole exam decides.
        if not _passes(bench, baseline, without, every):
            return _NEEDED
        trapped = variant(bench.case.candidate, suspect.trapped(sources))
        return _NOT_REACHED if _passes(bench, baseline, trapped, every) else _DECOY
    except _NotBuiltError:
        return _NOT_BUILT


class _NotBuiltError(Exception):
    pass


def _asked(case: Case) -> tuple[list[Question], list[Question]]:
    """The smallest row with every distribution; and every question, those of hidden rows first:
    they are small, and odd in what a kernel may be there for."""
    every = questions(case, secrets.randbits(63), secrets.randbits(63))
    every.sort(key=lambda question: question.hidden_seed is None)
    smallest = min(case.rows, key=_elements).id
    few = [q for q in every if q.row.id == smallest and q.hidden_seed is None]
    return few, every


def _elements(row: Row) -> int:
    return sum(tensor.storage_elements for tensor in row.tensors.values() if tensor is not None)


def variant(contender: Contender, sources: Mapping[str, bytes]) -> Contender:
    """The contender with other bytes in its sources."""
    files = tuple(
        SourceFile(path=path, sha256=sha256_hex(sources[path]), bytes=len(sources[path]))
        for path in contender.solution.sources
    )
    sealed = SealedSolution(solution=contender.solution, files=files)
    return Contender(sealed, sources, contender.lock)


def _passes(
    bench: Bench, baseline: RunnerProcess, contender: Contender, asked: Sequence[Question]
) -> bool:
    case, device = bench.case, bench.device
    flags = flags_for((case.baseline, case.candidate), device.target)
    try:
        program = build(case.task, contender, flags, device.target).program
    except ProcessFailure:
        raise _NotBuiltError from None
    try:
        with device.start(program) as process:
            examiner = Examiner(case, bench.oracle, baseline, process)
            return examiner.examine(asked, lambda _: None) is None
    except ProcessFailure:
        return False
