"""Loading: a task's folder and its solutions, each file read once and held by hash."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from assay.spec.baseline import Baseline
from assay.spec.baseline import LocalBaseline
from assay.spec.baseline import WheelBaseline
from assay.spec.binding import check_rows
from assay.spec.contract import Convention
from assay.spec.documents import read_document_bytes
from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import BaselineLock
from assay.spec.solution import Language
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile
from assay.spec.source import joint_hash
from assay.spec.task import Role
from assay.spec.task import Task
from assay.spec.workload import Workloads
from assay.task.address import TASK_FILE
from assay.task.address import resolve
from assay.task.files import LARGEST_SOURCE
from assay.task.files import read_inside
from assay.task.files import seal
from assay.task.freeze import LARGEST_DEFINING_FILE
from assay.task.freeze import FreezeState
from assay.task.freeze import freeze_state
from assay.task.snapshot.stored import lay_over
from assay.task.snapshot.stored import read_lock
from assay.task.snapshot.stored import read_snapshot

SOLUTION_FILE = "solution.toml"

_SUFFIXES = {
    Language.TORCH: (".py",),
    Language.TRITON: (".py",),
    Language.CPP: (".cpp", ".cc", ".cxx"),
    Language.CUDA: (".cu",),
}


@dataclass(frozen=True)
class TaskFolder:
    """A task as it was read: later changes on disk do not reach it."""

    path: Path
    task: Task
    workloads: Workloads
    reference: str
    """The source of reference.py."""
    files: tuple[SourceFile, ...]
    """task.toml, workloads.json and reference.py, by hash."""

    @property
    def reference_hash(self) -> str:
        return self.files[-1].sha256

    @cached_property
    def content_hash(self) -> str:
        """One hash over the bytes of task.toml, workloads.json and reference.py."""
        return joint_hash(self.files)

    @property
    def freeze_state(self) -> FreezeState:
        """Whether the folder, as it is on disk now, still is what `assay task freeze` saw."""
        return freeze_state(self.path, self.task)

    @property
    def solution_names(self) -> tuple[str, ...]:
        return tuple(
            sorted(path.parent.name for path in self.path.glob("solutions/*/solution.toml"))
        )


@dataclass(frozen=True)
class LoadedSolution:
    """A solution with the bytes of its sources; nothing is read from its folder again."""

    folder: Path
    sealed: SealedSolution
    sources: Mapping[str, bytes]
    """By path relative to the solution's folder; of a baseline out of a wheel also the lock and
    all that it names, at the paths that Python imports from."""
    lock: BaselineLock | None = None
    """Of a baseline out of a wheel."""

    @property
    def solution(self) -> Solution:
        return self.sealed.solution

    @property
    def content_hash(self) -> str:
        return self.sealed.content_hash


def load_task(address: str | Path) -> TaskFolder:
    """The task at an address or path; UsageError or DocumentError says what is wrong with it."""
    folder = resolve(address)
    definition = read_inside(folder, TASK_FILE, LARGEST_DEFINING_FILE)
    task = read_document_bytes(definition, folder / TASK_FILE, Task)
    rows = read_inside(folder, "workloads.json", LARGEST_DEFINING_FILE)
    workloads = read_document_bytes(rows, folder / "workloads.json", Workloads)
    check_rows(task, workloads, quote(folder / "workloads.json"))
    reference = read_inside(folder, "reference.py")
    text = _checked_reference(reference, task, folder / "reference.py")
    files = (
        seal(TASK_FILE, definition),
        seal("workloads.json", rows),
        seal("reference.py", reference),
    )
    return TaskFolder(folder, task, workloads, text, files)


def _checked_reference(data: bytes, task: Task, path: Path) -> str:
    """The reference's text, parsed but never imported: it is foreign code too."""
    where = quote(path)
    try:
        text = data.decode()
        tree = ast.parse(text)
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 at byte {error.start}", where=where) from None
    except SyntaxError as error:
        raise DocumentError(f"not Python: {error.msg}", where=f"{where}:{error.lineno}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise DocumentError(f"not Python: {quote(error)}", where=where) from None
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function in task.functions:
        if function.name not in defined:
            raise DocumentError(
                f"defines no function {function.name}",
                where=where,
                next_step=f"add def {function.name}(…) at the top level",
            )
    return text


def load_solution(folder: Path, task: Task | None = None) -> LoadedSolution:
    """The solution in a folder, its sources in memory; checked against the task when given one."""
    document = read_inside(folder, SOLUTION_FILE)
    solution = read_document_bytes(document, folder / SOLUTION_FILE, Solution)
    where = quote(folder / SOLUTION_FILE)
    _check_entry(solution, where)
    if task is not None:
        _check_against(solution, task, where)
    sources = {name: read_inside(folder, name) for name in solution.sources}
    if sum(map(len, sources.values())) > LARGEST_SOURCE:
        raise UsageError(f"all sources together are over {LARGEST_SOURCE} bytes", where=where)
    files = tuple(seal(name, data) for name, data in sources.items())
    sealed = SealedSolution(solution=solution, files=files)
    return LoadedSolution(folder, sealed, MappingProxyType(sources))


def _check_entry(solution: Solution, where: str) -> None:
    suffixes = _SUFFIXES[solution.language]
    if not solution.entry.endswith(suffixes):
        raise DocumentError(
            f"entry {solution.entry} is not {' or '.join(suffixes)}, as {solution.language} is",
            where=f"{where}: key entry",
        )


def _check_against(solution: Solution, task: Task, where: str) -> None:
    if not task.language.allows(solution.language):
        raise UsageError(
            f"written in {solution.language}, but the task asks for {task.language}",
            where=f"{where}: key language",
        )
    if solution.prepare is not None and not task.contract.prepare:
        raise UsageError(
            "declares prepare, which the task's contract does not allow",
            where=f"{where}: key prepare",
        )
    changes_inputs = any(
        argument.role is Role.INOUT
        for function in task.functions
        for argument in function.arguments
    )
    if (solution.convention is Convention.IN_PLACE) and not changes_inputs:
        raise UsageError(
            "works in place, but no argument of the task is inout",
            where=f"{where}: key convention",
        )


def load_locked(folder: Path, task: Task | None = None) -> LoadedSolution:
    """The baseline out of a wheel that lies in a folder: adapter, lock, snapshot and shims."""
    lock = read_lock(folder)
    own = load_solution(folder, task)
    whose = "TASK" if task is None else quote(task.name)
    snapshot = read_snapshot(folder, lock, f"assay task snapshot {whose}")
    document = lock.canonical()
    sources = {**lay_over(own.sources, snapshot), LOCK_FILE: document}
    files = (*own.sealed.files, seal(LOCK_FILE, document))
    sealed = SealedSolution(solution=own.solution, files=files)
    return LoadedSolution(folder, sealed, MappingProxyType(sources), lock)


def find_solution(task: TaskFolder, name_or_path: str | Path) -> LoadedSolution:
    """A solution of the task by name, one of its baselines by name, or any folder by path."""
    for folder in _candidates(task, name_or_path):
        if (folder / SOLUTION_FILE).is_file():
            # A lock may set variables in the runner: only one that the task names is followed.
            locked = folder.resolve() in _locked_folders(task)
            return load_locked(folder, task.task) if locked else load_solution(folder, task.task)
    known = task.solution_names
    close = difflib.get_close_matches(str(name_or_path), known, n=3, cutoff=0.5) or known
    raise UsageError(
        "no such solution",
        where=f"{task.task.name}: {quote(name_or_path)}",
        next_step=f"there are {', '.join(close)}" if close else f"a folder with {SOLUTION_FILE}",
    )


def _locked_folders(task: TaskFolder) -> set[Path]:
    return {
        (task.path / baseline.path).resolve()
        for baseline in task.task.baselines
        if isinstance(baseline, WheelBaseline)
    }


def _candidates(task: TaskFolder, name_or_path: str | Path) -> list[Path]:
    path = Path(name_or_path)
    if isinstance(name_or_path, Path) or "/" in name_or_path or path.name in {".", ".."}:
        return [path]
    baselines = [
        task.path / baseline.path
        for baseline in task.task.baselines
        if isinstance(baseline, LocalBaseline | WheelBaseline) and baseline.name == name_or_path
    ]
    return [task.path / "solutions" / name_or_path, *baselines, path]


def find_baseline(task: TaskFolder, name: str | None = None) -> Baseline:
    """What the task says of a baseline, the primary one unless named."""
    wanted = task.task.primary_baseline.name if name is None else name
    baseline = next((b for b in task.task.baselines if b.name == wanted), None)
    if baseline is None:
        names = ", ".join(b.name for b in task.task.baselines)
        raise UsageError(
            "no such baseline",
            where=f"{task.task.name}: {quote(wanted)}",
            next_step=f"there are {names}",
        )
    return baseline


def load_baseline(task: TaskFolder, name: str | None = None) -> LoadedSolution:
    """A baseline of the task, the primary one unless named; a reference has no folder."""
    baseline = find_baseline(task, name)
    if isinstance(baseline, WheelBaseline):
        return load_locked(task.path / baseline.path, task.task)
    if isinstance(baseline, LocalBaseline):
        return load_solution(task.path / baseline.path, task.task)
    raise UsageError(
        f"a {baseline.kind} baseline has no sources of its own",
        where=f"{task.task.name}: {baseline.name}",
    )
