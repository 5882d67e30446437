"""Authentic: whether a side that is pinned by a lock is the real one.

Two things are looked at: that its modules come from the snapshot, and that its calls launch the
kernels that the lock names. A package may silently take another path, and a comparison with that
is one with something that nobody runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from assay.device.failure import ProcessFailure
from assay.device.failure import violation
from assay.device.runners import Program
from assay.device.runners import RunnerDevice
from assay.device.runners import RunnerProcess
from assay.device.runners import Target
from assay.device.runners.account import CallState
from assay.device.runners.modules import Module
from assay.device.runners.modules import loaded_modules
from assay.judge.case import Case
from assay.judge.case import Contender
from assay.judge.clauses import explanation
from assay.judge.exam import failed
from assay.judge.kernel_names import bare
from assay.judge.pinned import matched
from assay.judge.pinned import packages_of
from assay.judge.pinned import unseen
from assay.judge.pinned import watch_row
from assay.spec.account import Authenticity
from assay.spec.account import PinnedModule
from assay.spec.account import PinnedRow
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import BaselineLock
from assay.spec.sample import Side
from assay.spec.solution import Language
from assay.spec.status import ViolationKind
from assay.spec.task import DeviceKind
from assay.spec.verdict import RowVerdict
from assay.spec.workload import Row

_FEW = 3


class _InauthenticError(Exception):
    def __init__(self, row: str, kind: ViolationKind, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.failure = violation(kind, reason)


@dataclass
class _Pinned:
    """One side, and what was seen of it."""

    contender: Contender
    lock: BaselineLock
    modules: tuple[Module, ...] = ()
    rows: list[PinnedRow] = field(default_factory=list)
    states: dict[str, CallState | None] = field(default_factory=dict)
    """By row."""

    def patterns(self, function: str) -> tuple[str, ...]:
        entry = self.lock.entries.get(function)
        return () if entry is None else entry.kernels


class Authentic:
    """What a candidate is not, is a violation; with a baseline that is not, nothing is compared."""

    def __init__(self, case: Case) -> None:
        self._case = case
        both = {Side.BASELINE: case.baseline, Side.CANDIDATE: case.candidate}
        self._sides = {
            side: _Pinned(contender, contender.lock)
            for side, contender in both.items()
            if contender.lock is not None
        }
        self.labels: list[str] = []

    def look(self, processes: Mapping[Side, RunnerProcess]) -> RowVerdict | None:
        """Where the modules came from; asked after all that may have loaded some."""
        found = None
        for side, pinned in self._sides.items():
            try:
                self._look(pinned, processes[side])
            except _InauthenticError as broken:
                found = found or self._refused(side, broken)
        return found

    def watch(self, device: RunnerDevice, programs: Mapping[str, Program]) -> RowVerdict | None:
        """What a few calls of every row launch."""
        found = None
        for side, pinned in self._sides.items():
            try:
                self._watch(side, pinned, device, programs[side.value])
            except _InauthenticError as broken:
                found = found or self._refused(side, broken)
        return found

    def findings(self) -> tuple[Authenticity, ...]:
        """What was seen, for the evidence."""
        return tuple(
            Authenticity(
                side=side.value,
                package=pinned.lock.package,
                version=pinned.lock.version,
                modules=tuple(map(_shown, pinned.modules)),
                rows=tuple(pinned.rows),
            )
            for side, pinned in self._sides.items()
        )

    def _refused(self, side: Side, broken: _InauthenticError) -> RowVerdict:
        if side is Side.CANDIDATE:
            return failed(broken.row, broken.failure)
        raise UsageError(
            f"the baseline is not the real one: {broken}",
            where=self._case.task.name,
            next_step="its baseline.lock says how it is called",
        ) from None

    # -- modules

    def _look(self, pinned: _Pinned, process: RunnerProcess) -> None:
        row = self._case.rows[0].id
        try:
            pinned.modules = loaded_modules(process, packages_of(pinned.lock))
        except ValueError as error:
            told = f"its answer about modules is {error}"
            raise _InauthenticError(row, ViolationKind.FOREIGN_MODULE, told) from None
        if not process.device.defences.pinned_modules:
            return
        for module in pinned.modules:
            if module.file is not None and module.inside not in pinned.contender.sources:
                told = (
                    f"module {quote(module.name)} of {pinned.lock.package} was loaded from "
                    f"{quote(module.file)}, which is not in its snapshot"
                )
                raise _InauthenticError(row, ViolationKind.FOREIGN_MODULE, told)
        self._check_entries(pinned)

    def _check_entries(self, pinned: _Pinned) -> None:
        loaded = {module.name for module in pinned.modules}
        for row in self._case.rows:
            entry = pinned.lock.entries.get(row.function)
            if entry is not None and entry.entry.partition(":")[0] not in loaded:
                told = f"{row.function} never loaded the module of its entry, {entry.entry}"
                raise _InauthenticError(row.id, ViolationKind.BASELINE_PATH, told)

    # -- kernels

    def _watch(self, side: Side, pinned: _Pinned, device: RunnerDevice, program: Program) -> None:
        known = [bool(pinned.patterns(row.function)) for row in self._case.rows]
        if not all(known):
            self.labels.append(f"kernels of the {side} not known")
        if not self._can_be_seen(device.target, pinned):
            if any(known):
                kind = device.target.kind
                self.labels.append(f"kernels of the {side} cannot be seen on the {kind}")
            return
        # Where none are known too: what was seen is what a lock is to be written from.
        self._watch_rows(pinned, device, program, self._case.rows)
        reasons = dict.fromkeys(row.unseen for row in pinned.rows if row.unseen is not None)
        self.labels += [f"kernels of the {side} not seen: {reason}" for reason in reasons]
        if device.defences.pinned_kernels:
            self._check_kernels(pinned)

    def _can_be_seen(self, target: Target, pinned: _Pinned) -> bool:
        """On a cpu operators stand for kernels, where the lock was made for one."""
        if target.kind != DeviceKind.CPU:
            return True
        interpreted = pinned.contender.solution.language is Language.TRITON
        return self._case.task.device is DeviceKind.CPU and not interpreted

    def _watch_rows(
        self, pinned: _Pinned, device: RunnerDevice, program: Program, rows: Sequence[Row]
    ) -> None:
        """In a process that serves nothing else. That it fails here is the profiler's doing: right
        and called as often, it has passed the exam."""
        try:
            with device.start(program) as process:
                for row in rows:
                    told, pinned.states[row.id] = watch_row(self._case, process, row)
                    pinned.rows.append(told)
        except ProcessFailure as failure:
            reason = f"its process failed under the profiler: {failure}"
            pinned.rows += [unseen(row, reason) for row in rows[len(pinned.rows) :]]

    def _check_kernels(self, pinned: _Pinned) -> None:
        """Every row launches one of its function's kernels; all rows together, each of them."""
        for function in dict.fromkeys(row.function for row in pinned.rows):
            rows = [row for row in pinned.rows if row.function == function]
            patterns = pinned.patterns(function)
            missing = set(patterns)
            for row in rows:
                found = matched(patterns, row.kernels)
                missing -= found
                if patterns and not found and row.unseen is None:
                    raise self._another_path(pinned, row, patterns)
            if missing and all(row.unseen is None for row in rows):
                raise self._another_path(pinned, rows[0], [p for p in patterns if p in missing])

    def _another_path(
        self, pinned: _Pinned, seen: PinnedRow, missing: Sequence[str]
    ) -> _InauthenticError:
        row = next(row for row in self._case.rows if row.id == seen.row)
        function = self._case.function_of(row)
        why = explanation(pinned.lock, function, row, pinned.states.get(row.id))
        told = (
            f"{function.name} of {pinned.lock.package} {pinned.lock.version} was not seen to "
            f"launch {_few(missing)}; on row {row.id} it launched "
            f"{_few([bare(name) for name in seen.kernels]) or 'nothing'}: {why}"
        )
        return _InauthenticError(row.id, ViolationKind.BASELINE_PATH, told)


def _few(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(map(quote, names)))
    more = f" and {len(distinct) - _FEW} more" if len(distinct) > _FEW else ""
    return ", ".join(distinct[:_FEW]) + more


def _shown(module: Module) -> PinnedModule:
    path = module.inside or module.file
    return PinnedModule(name=quote(module.name), path=None if path is None else quote(path))
