"""`baseline/` and `solution/` of a KDA-Pilot task as solutions of ours."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import embedded
from assay.task.exchange.document import solution_text
from assay.task.exchange.form import source_text
from assay.task.load import SOLUTION_FILE

_ENTRY = "assay_entry.py"
_SOURCES = (".py", ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".toml")
_NATIVE = {".cu": "cuda", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp"}


def part_files(
    folder: Path, entry: tuple[str, str], functions: list[str], name: str, *, destination: bool
) -> dict[str, str]:
    """The files of one side; UsageError with the reason where no solution of ours can hold it."""
    sources = {
        path.relative_to(folder).as_posix(): source_text(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in _SOURCES and path.is_file() and "__pycache__" not in path.parts
    }
    if SOLUTION_FILE in sources:
        return sources  # it was one of ours before
    sources = {path: text for path, text in sources.items() if not path.endswith(".toml")}
    path, function = entry[0].removeprefix(f"{folder.name}/"), entry[1]
    if path not in sources:
        raise UsageError(
            f"config.toml names {quote(entry[0]) or 'no entry point'}, which is not there",
            where=quote(folder),
        )
    where = quote(folder / path)
    suffix = Path(path).suffix
    if suffix in _NATIVE:
        return _native(sources, path, function, functions, name, where)
    wanted = _aliases(sources[path], function, functions, where)
    text = sources[path]
    language = "triton" if _uses_triton(sources) else "torch"
    content: dict[str, Any] = {
        "name": name,
        "language": language,
        "sources": [_ENTRY, *sources],
        "entry": _ENTRY,
        "convention": "destination" if destination else "returns",
    }
    if "tvm_ffi" in text or "load_inline" in text:
        raise UsageError("it builds its own library, whose flags nobody sees", where=where)
    lines = "\n".join(f"{ours} = _submission.{theirs}" for ours, theirs in wanted.items())
    adapter = embedded.headed(
        '"""The task\'s functions by the names that its rows have."""\n\n'
        "import importlib.util\nimport sys\nfrom pathlib import Path",
        embedded.loaded(path),
        lines,
    )
    return {SOLUTION_FILE: solution_text(content, where), _ENTRY: adapter, **sources}


def _uses_triton(sources: dict[str, str]) -> bool:
    pattern = re.compile(r"^\s*(import|from)\s+triton\b", re.MULTILINE)
    return any(pattern.search(text) for text in sources.values())


def _aliases(text: str, function: str, functions: list[str], where: str) -> dict[str, str]:
    """By function of the task, the one of the file."""
    defined = set(parameters_in(text))
    if len(functions) == 1 and function in defined:
        return {functions[0]: function}
    missing = [name for name in functions if name not in defined]
    if missing:
        raise UsageError(f"defines no function {missing[0]}", where=where)
    return {name: name for name in functions}


def parameters_in(text: str) -> dict[str, list[str]]:
    """Parameters of each function that a Python source defines; none where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _native(
    sources: dict[str, str],
    path: str,
    function: str,
    functions: list[str],
    name: str,
    where: str,
) -> dict[str, str]:
    language = _NATIVE[Path(path).suffix]
    if "assay_tensor" not in sources[path] or len(functions) != 1:
        raise UsageError(
            f"its {language} has a binding of its own: one here has the C ABI of assay.h",
            where=where,
        )
    sources[path] = embedded.with_alias(
        sources[path], function, functions[0], on_gpu=language == "cuda"
    )
    content = {"name": name, "language": language, "sources": list(sources), "entry": path}
    return {SOLUTION_FILE: solution_text(content, where), **sources}
