"""`baseline/` and `solution/` of a KDA-Pilot task as solutions of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange import embedded
from assay.task.exchange.document import solution_text
from assay.task.exchange.form import text_inside
from assay.task.load import SOLUTION_FILE

_ENTRY = "assay_entry.py"
_SOURCES = (".py", ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".toml", ".lock")
_NATIVE = {".cu": "cuda", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp"}


@dataclass(frozen=True)
class Call:
    """How a function of the task is called."""

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: tuple[str, ...]


def part_files(
    folder: Path, entry: tuple[str, str], calls: Sequence[Call], name: str, *, destination: bool
) -> dict[str, str]:
    """The files of one side; UsageError with the reason where no solution of ours can hold it."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES)
    names = [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
    sources = {name: text_inside(folder, name) for name in names if "__pycache__" not in name}
    if SOLUTION_FILE in sources:
        return sources  # it was one of ours before
    sources = {
        path: text for path, text in sources.items() if not path.endswith((".toml", ".lock"))
    }
    path, function = entry[0].removeprefix(f"{folder.name}/"), entry[1]
    if path not in sources:
        raise UsageError(
            f"config.toml names {quote(entry[0]) or 'no entry point'}, which is not there",
            where=quote(folder),
        )
    where = quote(folder / path)
    if Path(path).suffix in _NATIVE:
        return _native(sources, path, function, calls, name, where)
    if any(word in sources[path] for word in ("tvm_ffi", "load_inline")):
        raise UsageError("it builds its own library, whose flags nobody sees", where=where)
    content: dict[str, Any] = {
        "name": name,
        "language": "triton" if _uses_triton(sources) else "torch",
        "sources": [_ENTRY, *sources],
        "entry": _ENTRY,
        "convention": "destination" if destination else "returns",
    }
    defined = parameters_in(sources[path])
    adapter = embedded.headed(
        '"""The task\'s functions by the names that its rows have."""\n\n'
        "import importlib.util\nimport sys\nfrom pathlib import Path",
        embedded.loaded(path),
        *(_adapted(c, function, defined, where, len(calls), destination) for c in calls),
    )
    return {SOLUTION_FILE: solution_text(content, where), _ENTRY: adapter, **sources}


def _uses_triton(sources: dict[str, str]) -> bool:
    pattern = re.compile(r"^\s*(import|from)\s+triton\b", re.MULTILINE)
    return any(pattern.search(text) for text in sources.values())


def _adapted(
    call: Call,
    entry: str,
    defined: dict[str, list[str]],
    where: str,
    functions: int,
    destination: bool,
) -> str:
    """The task's function, which calls the file's own by the names of its parameters."""
    own = entry if functions == 1 and entry in defined else call.function
    if own not in defined:
        raise UsageError(f"defines no function {own}", where=where)
    tensors = [*call.inputs, *(call.outputs if destination else ())]
    for name in (*tensors, *call.options):
        if name not in defined[own]:
            raise UsageError(f"{own} has no parameter {name}", where=where)
    head = ", ".join([*tensors, *(["*", *call.options] if call.options else [])])
    given = ", ".join(f"{name}={name}" for name in (*tensors, *call.options))
    return f"def {call.function}({head}):\n    return _submission.{own}({given})"


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
    calls: Sequence[Call],
    name: str,
    where: str,
) -> dict[str, str]:
    language = _NATIVE[Path(path).suffix]
    if "assay_tensor" not in sources[path] or len(calls) != 1:
        raise UsageError(
            f"its {language} has a binding of its own: one here has the C ABI of assay.h",
            where=where,
        )
    sources[path] = embedded.with_alias(
        sources[path], function, calls[0].function, on_gpu=language == "cuda"
    )
    content = {"name": name, "language": language, "sources": list(sources), "entry": path}
    return {SOLUTION_FILE: solution_text(content, where), **sources}
