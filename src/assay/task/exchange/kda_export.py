"""A task of ours as a KDA-Pilot task folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.baseline import LocalBaseline
from assay.spec.baseline import ReferenceBaseline
from assay.spec.baseline import WheelBaseline
from assay.spec.contract import Convention
from assay.spec.errors import UsageError
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import SHIMS
from assay.spec.task import Function
from assay.spec.task import Role
from assay.task.address import TASK_FILE as OWN_TASK_FILE
from assay.task.exchange import kda_rows
from assay.task.exchange.document import toml_text
from assay.task.exchange.form import WORKLOADS
from assay.task.exchange.form import text_inside
from assay.task.exchange.kda import REFERENCE
from assay.task.exchange.kda import TASK_FILE
from assay.task.exchange.kda_config import CONFIG
from assay.task.exchange.written import write_whole
from assay.task.files import read_inside
from assay.task.load import SOLUTION_FILE
from assay.task.load import LoadedSolution
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_solution


@dataclass(frozen=True)
class Exported:
    folder: Path
    rows: int
    solution: str | None
    left_out: tuple[str, ...]
    """What their form has no room for."""

    def content(self) -> dict[str, Any]:
        return {
            "form": "kda",
            "path": str(self.folder),
            "rows": self.rows,
            "solution": self.solution,
            "left_out": list(self.left_out),
        }


def export_kda(task: TaskFolder, folder: Path, solution: str | None = None) -> Exported:
    """Write the folder; with one solution, the only one unless it is named."""
    primary = task.task.primary_baseline
    if isinstance(primary, ReferenceBaseline):
        raise UsageError(
            f"its baseline {primary.name} is the reference, which has no sources of its own",
            where=task.task.name,
            next_step="export a task whose baseline has a folder",
        )
    baseline = load_solution(task.path / primary.path, task.task)
    names = task.solution_names
    chosen = solution or (names[0] if len(names) == 1 else None)
    candidate = find_solution(task, chosen) if chosen is not None else None
    exact = task.task.tolerance.exact
    rows = [kda_rows.written(row, exact=exact) for row in task.workloads.rows]
    files = {
        "prompt.md": _prompt(task),
        CONFIG: toml_text(_config(task, baseline, candidate)),
        WORKLOADS: json.dumps(rows, indent=2) + "\n",
        REFERENCE: task.reference,
        TASK_FILE: read_inside(task.path, OWN_TASK_FILE).decode(),
        **_part("baseline", baseline),
        **_locked(task, primary),
    }
    if candidate is not None:
        files |= _part("solution", candidate)
    else:
        files["solution/.gitkeep"] = ""
    write_whole(folder, files, lambda _: None)
    return Exported(folder, len(rows), chosen, tuple(_left_out(task, chosen)))


def _left_out(task: TaskFolder, chosen: str | None) -> list[str]:
    left = [f"solution {name}" for name in task.solution_names if name != chosen]
    left += [f"baseline {b.name}" for b in task.task.baselines if not b.primary]
    if not task.task.tolerance.exact:
        left.append("atol and rtol: limits here follow the baseline's own error")
    if isinstance(task.task.primary_baseline, WheelBaseline):
        left.append("files of the baseline's wheel: assay task snapshot gets them")
    if task.workloads.source:
        left.append("where the rows were captured")
    return left


def _locked(task: TaskFolder, primary: LocalBaseline | WheelBaseline) -> dict[str, str]:
    """Lock and shims of a baseline out of a wheel; the wheel's own files are not ours to copy."""
    if isinstance(primary, LocalBaseline):
        return {}
    folder = task.path / primary.path
    shims = sorted(path for path in (folder / SHIMS).rglob("*.py") if path.is_file())
    names = [LOCK_FILE, *(path.relative_to(folder).as_posix() for path in shims)]
    return {f"baseline/{name}": text_inside(folder, name) for name in names}


def _part(place: str, loaded: LoadedSolution) -> dict[str, str]:
    files = {SOLUTION_FILE: read_inside(loaded.folder, SOLUTION_FILE), **loaded.sources}
    try:
        return {f"{place}/{path}": data.decode() for path, data in files.items()}
    except UnicodeDecodeError:
        raise UsageError(f"a source of {loaded.solution.name} is not UTF-8") from None


def _config(
    task: TaskFolder, baseline: LoadedSolution, candidate: LoadedSolution | None
) -> dict[str, Any]:
    functions = [function.name for function in task.task.functions]
    destination = baseline.solution.convention is not Convention.RETURNS
    build: dict[str, Any] = {
        "language": (candidate or baseline).solution.language.value,
        "destination_passing_style": destination,
        "baseline_entry_point": f"baseline/{baseline.solution.entry}::{functions[0]}",
    }
    if candidate is not None:
        entry = f"solution/{candidate.solution.entry}::{functions[0]}"
        build["candidate_entry_point"] = entry
    config: dict[str, Any] = {
        "task": {
            "slug": task.task.name.replace("/", "_"),
            "arch": task.task.device.value,
            "family": task.task.name.rsplit("/", 1)[-1],
            "entry_points": functions,
        },
        "build": build,
    }
    if task.task.tolerance.exact:
        config["correctness"] = {
            "bitwise_required": True,
            "comparison": "torch_equal",
            "forbid_tolerance": True,
        }
    return config


def _prompt(task: TaskFolder) -> str:
    lines = [f"# {task.task.name}", "", f"{task.task.summary}.", ""]
    lines += [f"- `{_signature(function)}`: {function.summary}" for function in task.task.functions]
    lines += [
        "",
        f"Make it faster than `baseline/` on the {len(task.workloads.rows)} rows of `{WORKLOADS}`, "
        f"and right on every call of the domain in `{TASK_FILE}`.",
        f"What is right is in `{REFERENCE}`, in float64. The candidate goes to `solution/`.",
        f"Rows marked `production` count in the headline. Device: {task.task.device}.",
        "",
    ]
    return "\n".join(lines)


def _signature(function: Function) -> str:
    tensors = [f"{a.name} (out)" if a.role is Role.OUTPUT else a.name for a in function.arguments]
    return f"{function.name}({', '.join([*tensors, *(o.name for o in function.options)])})"
