"""KernelBench problems: a Model with its inputs becomes a task, a ModelNew a solution of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import kernelbench_text as text
from assay.task.exchange.document import solution_text
from assay.task.exchange.document import task_text
from assay.task.exchange.document import workloads_text
from assay.task.exchange.form import Form
from assay.task.exchange.form import classes_in
from assay.task.exchange.form import source_text
from assay.task.exchange.imported import Imported
from assay.task.exchange.kernelbench_found import PROBLEM_FILE
from assay.task.exchange.kernelbench_found import Problem
from assay.task.exchange.kernelbench_found import look_at
from assay.task.exchange.names import name as as_name
from assay.task.exchange.written import add_solution
from assay.task.exchange.written import write_task
from assay.task.load import load_task

EAGER = "eager"
ROW = "problem"
_SUBMISSION = "submission.py"
_ENTRY = "entry.py"
# They build a library while they are imported, with flags that no rule of the judge sees.
_SELF_BUILDING = re.compile(r"\b(load_inline|cpp_extension|nvcc|NVRTC|cupy)\b")


def import_kernelbench(path: Path, into: Path) -> Imported:
    """A problem file, a folder of one with its solutions, or a ModelNew for a task that exists."""
    problem, solutions = _files(path)
    if problem is None:
        return _add(solutions, into)
    found = look_at(source_text(problem), problem)
    files = _task_files(found, problem)
    left_out: list[str] = []
    names: list[str] = []
    for file in solutions:
        reason = _unfit(file)
        if reason is None:
            name = _solution_name(file, names)
            made = _solution_files(found, file, name)
            files |= {f"solutions/{name}/{relative}": content for relative, content in made.items()}
            names.append(name)
        else:
            left_out.append(f"{file.name}: {reason}")
    task = write_task(into, files)
    return Imported(Form.KERNELBENCH, task, tuple(names), tuple(left_out), found.remarks)


def _files(path: Path) -> tuple[Path | None, list[Path]]:
    """The problem, and the files that hold a ModelNew; one file may be both."""
    every = sorted(path.glob("*.py")) if path.is_dir() else [path]
    problems = [file for file in every if "Model" in classes_in(file)]
    solutions = [file for file in every if "ModelNew" in classes_in(file)]
    # A solution may carry a copy of the problem for comparison; the problem's own file is one
    # that is no solution.
    problems = [file for file in problems if file not in solutions] or problems
    if len(problems) > 1:
        raise UsageError(
            f"{len(problems)} files define a Model: {', '.join(p.name for p in problems[:4])}",
            where=quote(path),
            next_step="import one file at a time",
        )
    if not problems and not solutions:
        raise UsageError(
            "defines neither class Model nor class ModelNew",
            where=quote(path),
            next_step="a problem defines Model, get_inputs and get_init_inputs",
        )
    return (problems[0] if problems else None), solutions


def _add(solutions: list[Path], into: Path) -> Imported:
    """Solutions for a problem that was imported before."""
    if not (into / "task.toml").is_file():
        raise UsageError(
            "a ModelNew without its problem",
            where=quote(solutions[0]),
            next_step="import the problem first, then this --into the task's folder",
        )
    task = load_task(into.resolve())
    problem = into / "baselines" / EAGER / PROBLEM_FILE
    if not problem.is_file():
        raise UsageError(
            "no task that was imported from KernelBench", where=quote(into), next_step="see --into"
        )
    found = look_at(source_text(problem), problem, function=task.task.functions[0].name)
    names: list[str] = []
    for file in solutions:
        reason = _unfit(file)
        if reason is not None:
            raise UsageError(reason, where=quote(file))
        name = _solution_name(file, names)
        add_solution(task, name, _solution_files(found, file, name))
        names.append(name)
    return Imported(Form.KERNELBENCH, load_task(into), tuple(names), (), found.remarks)


def _unfit(file: Path) -> str | None:
    match = _SELF_BUILDING.search(source_text(file))
    if match is None:
        return None
    return (
        f"it builds its own library ({match[1]}), whose flags nobody sees: make it a CUDA solution"
    )


def _solution_name(file: Path, taken: list[str]) -> str:
    return as_name(file.stem, taken)


def _task_files(problem: Problem, path: Path) -> dict[str, str]:
    where = quote(path)
    signature = problem.signature
    of = as_name(path.name)
    function = {
        "name": signature.function,
        "summary": f"the Model of {of}",
        "arguments": list(problem.arguments),
        "options": [{"name": n, "choices": [v]} for n, v in problem.options.items()] or None,
    }
    task: dict[str, Any] = {
        "name": f"kernelbench/{as_name(path.stem)}",
        "summary": f"the Model of {of}",
        "source": f"imported from the KernelBench problem {of}",
        "functions": [function],
        "domain": {"axes": {}},
        "contract": {"prepare": True} if signature.weights else None,
        "baselines": [
            {"kind": "local", "name": EAGER, "primary": True, "path": f"baselines/{EAGER}"}
        ],
    }
    row = {
        "id": ROW,
        "function": signature.function,
        "tensors": {
            a["name"]: {"shape": a["shape"], "dtype": a["dtypes"][0]} for a in problem.arguments
        },
        "options": problem.options,
    }
    baseline = {
        f"baselines/{EAGER}/solution.toml": solution_text(
            _solution(EAGER, "torch", signature, (_ENTRY, PROBLEM_FILE)), where
        ),
        f"baselines/{EAGER}/{_ENTRY}": text.baseline_text(signature),
        f"baselines/{EAGER}/{PROBLEM_FILE}": problem.source,
    }
    return {
        "task.toml": task_text(task, where),
        "workloads.json": workloads_text([row], [f"get_inputs of {of}"], where),
        "reference.py": text.reference_text(signature, problem.source, of),
        **baseline,
    }


def _solution_files(problem: Problem, path: Path, name: str) -> dict[str, str]:
    source = source_text(path)
    language = "triton" if re.search(r"^\s*(import|from)\s+triton\b", source, re.M) else "torch"
    content = _solution(name, language, problem.signature, (_ENTRY, PROBLEM_FILE, _SUBMISSION))
    return {
        "solution.toml": solution_text(content, quote(path)),
        _ENTRY: text.solution_text(problem.signature),
        PROBLEM_FILE: problem.source,
        _SUBMISSION: source,
    }


def _solution(
    name: str, language: str, signature: text.Signature, sources: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "name": name,
        "language": language,
        "sources": list(sources),
        "entry": _ENTRY,
        "convention": "returns",
        "prepare": "prepare" if signature.weights else None,
    }
