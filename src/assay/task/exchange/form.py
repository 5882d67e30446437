"""Form: whose task it is that is to be imported."""

from __future__ import annotations

import ast
import enum
import json
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.files import LARGEST_SOURCE
from assay.task.files import read_inside

WORKLOADS = "bench/workloads.json"
_LARGEST_JSON = 32 * 2**20


class Form(enum.StrEnum):
    KERNELBENCH = "kernelbench"
    FLASHINFER = "flashinfer"
    KDA = "kda"


def recognise(path: Path) -> Form:
    """By what lies there; UsageError where it looks like none of them."""
    if path.is_dir():
        found = _of_folder(path)
    elif path.suffix == ".py":
        found = Form.KERNELBENCH if classes_in(path) & {"Model", "ModelNew"} else None
    else:
        found = Form.FLASHINFER if path.suffix == ".json" and is_definition(path) else None
    if found is None and not path.exists():
        raise UsageError("there is no such file or folder", where=quote(path))
    if found is None:
        raise UsageError(
            "no KernelBench problem, no FlashInfer-Bench definition and no KDA-Pilot task",
            where=quote(path),
            next_step="name its form with --from to be told what is missing",
        )
    return found


def _of_folder(folder: Path) -> Form | None:
    if (folder / WORKLOADS).is_file() or (folder / "config.toml").is_file():
        return Form.KDA
    if any(is_definition(path) for path in sorted(folder.rglob("*.json"))):
        return Form.FLASHINFER
    if any("Model" in classes_in(path) for path in sorted(folder.glob("*.py"))):
        return Form.KERNELBENCH
    return None


def classes_in(path: Path) -> set[str]:
    """Names of the classes that a Python file defines; none where it is no Python."""
    try:
        tree = ast.parse(source_text(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def is_definition(path: Path) -> bool:
    try:
        content = json_of(path)
    except UsageError:
        return False
    return isinstance(content, dict) and {"axes", "inputs", "outputs", "reference"} <= set(content)


def json_of(path: Path) -> Any:
    try:
        return json.loads(read_text(path, _LARGEST_JSON))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {quote(error)}", where=quote(path)) from None


def source_text(path: Path) -> str:
    """A source as it is, line ends included."""
    return read_text(path)


def read_text(path: Path, largest: int = LARGEST_SOURCE) -> str:
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        raise UsageError("cannot be read: a loop of links", where=quote(path)) from None
    return text_inside(real.parent, real.name, largest)


def text_inside(folder: Path, relative: str, largest: int = LARGEST_SOURCE) -> str:
    """The text of a file of the folder; a link that leaves it is refused."""
    data = read_inside(folder, relative, largest)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = quote(folder / relative)
        raise UsageError(f"not UTF-8 at byte {error.start}", where=where) from None
