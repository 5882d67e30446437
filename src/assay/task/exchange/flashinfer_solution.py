"""Solutions of FlashInfer-Bench: those that a solution of ours can hold, and why others cannot."""

from __future__ import annotations

import ast
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import flashinfer_text as text
from assay.task.exchange.document import solution_text
from assay.task.exchange.embedded import with_alias
from assay.task.exchange.flashinfer_form import ForeignSolution
from assay.task.exchange.names import symbol

ENTRY = "assay_entry.py"
_PYTHON = {"python": "torch", "triton": "triton"}
_NATIVE = {"cpp": (".cpp", ".cc", ".cxx"), "cuda": (".cu",)}


def solution_files(
    solution: ForeignSolution, signature: text.Signature, name: str
) -> dict[str, str]:
    """Its folder's files; UsageError where no solution of ours can hold it."""
    path, _, function = solution.spec.entry_point.partition("::")
    sources = {source.path: source.content for source in solution.sources}
    if path not in sources or symbol(function) != function:
        raise UsageError(f"its entry point {quote(solution.spec.entry_point)} is not there")
    language = solution.spec.language.lower()
    if language in _PYTHON:
        return _python_files(solution, signature, name, sources, path, function)
    if language in _NATIVE:
        return _native_files(solution, signature, name, sources, path, function)
    raise UsageError(f"it is written in {quote(language)}, which no solution here is")


def _python_files(
    solution: ForeignSolution,
    signature: text.Signature,
    name: str,
    sources: dict[str, str],
    path: str,
    function: str,
) -> dict[str, str]:
    destination = _is_destination(solution, signature, sources[path], function)
    content = {
        "language": _PYTHON[solution.spec.language.lower()],
        "sources": [ENTRY, *sources],
        "entry": ENTRY,
        "convention": "destination" if destination else "returns",
    }
    entry = text.solution_text(signature, path, function, destination=destination)
    return {"solution.toml": _document(solution, name, content), ENTRY: entry, **sources}


def _is_destination(
    solution: ForeignSolution, signature: text.Signature, source: str, function: str
) -> bool:
    """As it says; older ones do not say, and are told by how many parameters they take."""
    if solution.spec.destination_passing_style is not None:
        return solution.spec.destination_passing_style
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError("its entry is not Python") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            plain = len(node.args.posonlyargs) + len(node.args.args)
            return node.args.vararg is not None or plain > len(signature.inputs)
    raise UsageError(f"its entry defines no function {function}")


def _native_files(
    solution: ForeignSolution,
    signature: text.Signature,
    name: str,
    sources: dict[str, str],
    path: str,
    function: str,
) -> dict[str, str]:
    language = solution.spec.language.lower()
    if not path.endswith(_NATIVE[language]) or "assay_tensor" not in sources[path]:
        bound = solution.spec.binding or "tvm-ffi"
        raise UsageError(
            f"its {language} is bound by {quote(bound)}: one here has the C ABI of assay.h"
        )
    on_gpu = language == "cuda"
    sources[path] = with_alias(sources[path], function, signature.function, on_gpu=on_gpu)
    content = {"language": language, "sources": list(sources), "entry": path}
    return {"solution.toml": _document(solution, name, content), **sources}


def _document(solution: ForeignSolution, name: str, content: dict[str, Any]) -> str:
    note = f"imported from the FlashInfer-Bench solution {quote(solution.name)}"
    return solution_text({"name": name, **content, "note": note}, quote(solution.name))
