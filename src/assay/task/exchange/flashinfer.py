"""FlashInfer-Bench: a definition with its workloads becomes a task, with its solutions."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import flashinfer_text as text
from assay.task.exchange.document import solution_text
from assay.task.exchange.document import task_text
from assay.task.exchange.document import workloads_text
from assay.task.exchange.flashinfer_files import TraceSet
from assay.task.exchange.flashinfer_files import trace_set
from assay.task.exchange.flashinfer_rows import Rows
from assay.task.exchange.flashinfer_rows import rows_of
from assay.task.exchange.flashinfer_solution import solution_files
from assay.task.exchange.form import Form
from assay.task.exchange.imported import Imported
from assay.task.exchange.names import name as as_name
from assay.task.exchange.names import sentence
from assay.task.exchange.names import symbol
from assay.task.exchange.probe import probed
from assay.task.exchange.written import write_task

EAGER = "eager"
_ENTRY = "entry.py"
_DEFINITION = "definition.py"
_BYTE_RANGES = {"int8": [-128, 128], "uint8": [0, 256]}
_OTHER_RANGE = [-1000, 1000]


def import_flashinfer(path: Path, into: Path) -> Imported:
    found = trace_set(path)
    definition, where = found.definition, quote(found.path)
    taken = _defined_in(definition.reference, where)
    taken |= {*definition.inputs, *definition.outputs}
    function = symbol(definition.name, taken)
    rows = rows_of(found, function)
    signature = text.Signature(
        function=function,
        inputs=tuple(definition.inputs),
        tensors=tuple(argument["name"] for argument in rows.inputs),
        options=tuple(rows.options),
        outputs=tuple(definition.outputs),
    )
    if not signature.tensors:
        raise UsageError("it has no tensor as an input", where=where)
    equivalent = _probe(found, rows, where)
    files, names, left_out = _solutions(found, signature)
    native = any('language = "cuda"' in body for path, body in files.items() if path.endswith("ml"))
    device = "cuda" if native else "cpu"
    files |= _task_files(found, rows, signature, where, device, equivalent)
    task = write_task(into, files)
    return Imported(Form.FLASHINFER, task, tuple(names), tuple(left_out), tuple(rows.remarks))


def _defined_in(source: str, where: str) -> set[str]:
    """Names at the top of the reference, which must define run and none of ours."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"its reference is not Python: {quote(error)}", where=where) from None
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    } | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
        raise UsageError("its reference defines no function run", where=where)
    for name in text.OURS:
        if name in defined:
            raise UsageError(
                f"its reference uses the name {name}, which the task's reference needs",
                where=where,
                next_step="rename it there",
            )
    return defined


def _probe(found: TraceSet, rows: Rows, where: str) -> list[Any]:
    """Run the reference on the smallest row; which mutants of it could never be told from it."""

    def size(row: dict[str, Any]) -> int:
        return sum(math.prod(spec["shape"]) for spec in row["tensors"].values())

    row = min(rows.rows, key=size)
    ranges = {argument["name"]: argument.get("integers") for argument in rows.inputs}
    inputs = []
    for name in found.definition.inputs:
        if name in row["options"]:
            inputs.append({"value": row["options"][name]})
            continue
        spec = row["tensors"][name]
        usual = _BYTE_RANGES.get(spec["dtype"], _OTHER_RANGE)
        inputs.append({**spec, "integers": ranges[name] or usual})
    outputs = [{"name": name, **row["tensors"][name]} for name in found.definition.outputs]
    request = {"reference": _DEFINITION, "inputs": inputs, "outputs": outputs}
    sources = {_DEFINITION: found.definition.reference}
    equivalent = probed("flashinfer_probe", sources, request, where).get("equivalent")
    return equivalent if isinstance(equivalent, list) else []


def _solutions(
    found: TraceSet, signature: text.Signature
) -> tuple[dict[str, str], list[str], list[str]]:
    files: dict[str, str] = {}
    names: list[str] = []
    left_out: list[str] = []
    for solution in found.solutions:
        name = as_name(solution.name, names)
        try:
            made = solution_files(solution, signature, name)
        except UsageError as error:
            left_out.append(f"solution {quote(solution.name)}: {error.what}")
            continue
        files |= {f"solutions/{name}/{path}": content for path, content in made.items()}
        names.append(name)
    return files, names, left_out


def _task_files(
    found: TraceSet,
    rows: Rows,
    signature: text.Signature,
    where: str,
    device: str,
    equivalent: list[Any],
) -> dict[str, str]:
    definition = found.definition
    summary = sentence(definition.description or "", f"the definition {definition.name}")
    task = {
        "name": f"flashinfer/{as_name(definition.name)}",
        "summary": summary,
        "source": f"imported from the FlashInfer-Bench definition {as_name(definition.name)}",
        "device": device,
        "functions": [
            {
                "name": signature.function,
                "summary": summary,
                "arguments": [*rows.inputs, *rows.outputs],
                "options": [{"name": n, "choices": v} for n, v in rows.options.items()] or None,
            }
        ],
        "domain": {"axes": rows.axes},
        "baselines": [
            {"kind": "local", "name": EAGER, "primary": True, "path": f"baselines/{EAGER}"}
        ],
        "equivalent_mutants": equivalent or None,
    }
    baseline = {
        "name": EAGER,
        "language": "torch",
        "sources": [_ENTRY, _DEFINITION],
        "entry": _ENTRY,
        "convention": "returns",
    }
    source = f"{len(rows.rows)} workloads of {as_name(definition.name)}"
    return {
        "task.toml": task_text(task, where),
        "workloads.json": workloads_text(rows.rows, [source], where),
        "reference.py": text.reference_text(signature, definition.reference),
        f"baselines/{EAGER}/solution.toml": solution_text(baseline, where),
        f"baselines/{EAGER}/{_ENTRY}": text.baseline_text(signature),
        f"baselines/{EAGER}/{_DEFINITION}": definition.reference,
    }
