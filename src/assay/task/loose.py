"""Loose files: a task folder made of a baseline, a candidate and a reference that have none."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.contract import Convention
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex
from assay.spec.solution import Language
from assay.spec.task import DeviceKind
from assay.task.files import read_inside
from assay.task.files import write_new_folder
from assay.task.load import TaskFolder
from assay.task.load import find_solution
from assay.task.load import load_baseline
from assay.task.load import load_task
from assay.task.shapes import Number
from assay.task.shapes import OptionValue
from assay.task.shapes import Shape
from assay.task.toml import Value
from assay.task.toml import toml_value

ONLY_ROW = "row"
CANDIDATE = "candidate"
BASELINE = "baseline"

_LANGUAGES = {
    ".py": Language.TORCH,
    ".cpp": Language.CPP,
    ".cc": Language.CPP,
    ".cxx": Language.CPP,
    ".cu": Language.CUDA,
}
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}", re.ASCII)


@dataclass(frozen=True)
class LooseFile:
    """`FILE:FUNCTION[:CONVENTION]`: one file that holds one function."""

    path: Path
    function: str
    convention: Convention = Convention.DESTINATION


@dataclass(frozen=True)
class LooseTask:
    """What the command line says of a task that has no folder."""

    reference: LooseFile
    baseline: LooseFile
    candidate: LooseFile
    shapes: tuple[Shape, ...]
    options: tuple[OptionValue, ...] = ()
    name: str | None = None


def parse_file(text: str) -> LooseFile:
    """`a.py:f`, or `a.py:f:returns` for a function that returns its outputs."""
    path, _, rest = text.partition(":")
    function, _, convention = rest.partition(":")
    known = set(Convention) | {""}
    if not path or not _SYMBOL.fullmatch(function) or convention not in known:
        raise UsageError(
            "not understood", where=quote(text), next_step="a.py:f or a.py:f:returns is"
        )
    return LooseFile(Path(path), function, Convention(convention or Convention.DESTINATION))


def write_loose_task(loose: LooseTask, folder: Path) -> TaskFolder:
    """Write a task folder for the loose files, and load all of it."""
    function = loose.reference.function
    rows = _rows(loose.shapes)
    options = _options(loose.options, list(rows))
    reference = _text(loose.reference)
    files = {
        "task.toml": _task_toml(loose, function, rows, options, reference),
        "workloads.json": _workloads_json(function, rows, options),
        "reference.py": reference,
    }
    for place, name, file in (
        (f"baselines/{BASELINE}", BASELINE, loose.baseline),
        (f"solutions/{CANDIDATE}", CANDIDATE, loose.candidate),
    ):
        files |= _solution_files(place, name, file, function)
    write_new_folder(folder, files)
    task = load_task(folder)
    load_baseline(task)
    find_solution(task, CANDIDATE)
    return task


def _rows(shapes: Sequence[Shape]) -> dict[str, dict[str, Shape]]:
    """By row and argument; every row has the same arguments in the same order."""
    rows: dict[str, dict[str, Shape]] = {}
    for shape in shapes:
        row = rows.setdefault(shape.row or ONLY_ROW, {})
        if shape.name in row:
            raise UsageError(f"{shape.name} stands twice in one row", where=f"--shape {shape}")
        row[shape.name] = shape
    if not rows:
        raise UsageError("no --shape is given", next_step="one for each tensor")
    first = next(iter(rows.values()))
    for name, row in rows.items():
        _check_like_first(name, row, first)
    return rows


def _check_like_first(name: str, row: dict[str, Shape], first: dict[str, Shape]) -> None:
    if list(row) != list(first):
        raise UsageError(
            f"row {name} has {', '.join(row)} where the first row has {', '.join(first)}",
            next_step="name the same tensors in the same order for every row",
        )
    for shape in row.values():
        other = first[shape.name]
        if (shape.role, shape.constant, len(shape.shape)) != (
            other.role,
            other.constant,
            len(other.shape),
        ):
            raise UsageError(
                f"{shape.name} differs in kind or rank from the first row", where=f"--shape {shape}"
            )


def _options(options: Sequence[OptionValue], rows: Sequence[str]) -> dict[str, dict[str, Number]]:
    """By row and option; an option without a row's name is one of every row."""
    found: dict[str, dict[str, Number]] = {row: {} for row in rows}
    for option in options:
        if option.row is not None and option.row not in found:
            raise UsageError(
                f"there is no row {option.row}", where=f"--option {option.row}/{option.name}"
            )
        for row in [option.row] if option.row is not None else rows:
            if option.name in found[row]:
                raise UsageError(f"{option.name} stands twice", where=f"--option {option.name}")
            found[row][option.name] = option.value
    if len({frozenset(given) for given in found.values()}) > 1:
        raise UsageError("the rows do not have the same options", where="--option")
    return found


class _Axes:
    """Names for the extents that differ between rows; an extent that never does stays a number."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, ...], str] = {}

    def of(self, extents: tuple[int, ...]) -> str | int:
        if len(set(extents)) == 1:
            return extents[0]
        return self.names.setdefault(extents, f"n{len(self.names)}")


def _task_toml(
    loose: LooseTask,
    function: str,
    rows: dict[str, dict[str, Shape]],
    options: dict[str, dict[str, Number]],
    reference: str,
) -> str:
    axes = _Axes()
    arguments = [
        _argument([row[name] for row in rows.values()], axes) for name in next(iter(rows.values()))
    ]
    # The reference's hash keeps the evidence of two loose tasks apart.
    name = loose.name or f"loose/{function}-{sha256_hex(reference.encode())[:8]}"
    names = list(next(iter(options.values())))
    given: list[Value] = [
        {"name": option, "choices": _distinct([row[option] for row in options.values()])}
        for option in names
    ]
    lines = [
        'schema = "assay.task.1"',
        f"name = {toml_value(name)}",
        f'summary = "loose files: {function}"',
        f'device = "{_device(loose)}"',
        "",
        "[[functions]]",
        f"name = {toml_value(function)}",
        f'summary = "loose files: {function}"',
        "arguments = [",
        *(f"    {toml_value(argument)}," for argument in arguments),
        "]",
        f"options = {toml_value(given)}",
        "",
        "# Only the extents that were given: loose files promise nothing beyond their rows.",
        "[domain]",
        "[domain.axes]",
        *(_axis_line(axis, extents) for extents, axis in axes.names.items()),
        "",
        "[[baselines]]",
        'kind = "local"',
        f'name = "{BASELINE}"',
        "primary = true",
        f'path = "baselines/{BASELINE}"',
    ]
    return "\n".join(lines) + "\n"


def _argument(shapes: Sequence[Shape], axes: _Axes) -> dict[str, Value]:
    first = shapes[0]
    extents = [axes.of(part) for part in zip(*(shape.shape for shape in shapes), strict=True)]
    dtypes = _distinct([shape.dtype.value for shape in shapes])
    argument: dict[str, Value] = {
        "name": first.name,
        "role": first.role.value,
        "shape": extents,
        "dtypes": dtypes,
    }
    return argument | ({"constant": True} if first.constant else {})


def _distinct(values: Sequence[Any]) -> list[Any]:
    """In order, once each; 1 and True, which Python holds equal, are two values."""
    return list({(type(value), value): value for value in values}.values())


def _axis_line(axis: str, extents: tuple[int, ...]) -> str:
    choices = sorted(set(extents))
    body: dict[str, Value] = {"low": choices[0], "high": choices[-1], "choices": choices}
    return f"{axis} = {toml_value(body)}"


def _workloads_json(
    function: str, rows: dict[str, dict[str, Shape]], options: dict[str, dict[str, Number]]
) -> str:
    document = {
        "schema": "assay.workloads.1",
        "rows": [
            {
                "id": name,
                "function": function,
                "tensors": {
                    shape.name: {"shape": list(shape.shape), "dtype": shape.dtype.value}
                    for shape in row.values()
                },
                "options": options[name],
            }
            for name, row in rows.items()
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _solution_files(place: str, name: str, file: LooseFile, function: str) -> dict[str, str]:
    text = _text(file)
    language = _language(file.path, text)
    entry = f"{name}{file.path.suffix}"
    document = {
        "schema": "assay.solution.1",
        "name": name,
        "language": language.value,
        "sources": [entry],
        "entry": entry,
        "convention": file.convention.value,
        "note": f"a copy of {re.sub(r'[^ -~]', '?', file.path.name)}, function {file.function}",
    }
    toml = "".join(f"{key} = {toml_value(value)}\n" for key, value in document.items())
    return {f"{place}/solution.toml": toml, f"{place}/{entry}": _renamed(text, file, function)}


def _language(path: Path, text: str) -> Language:
    language = _LANGUAGES.get(path.suffix)
    if language is None:
        raise UsageError(f"not one of {', '.join(_LANGUAGES)}", where=quote(path))
    if language is Language.TORCH and re.search(r"^\s*(import|from)\s+triton\b", text, re.M):
        return Language.TRITON
    return language


def _device(loose: LooseTask) -> DeviceKind:
    """A CUDA source runs on a GPU alone; all else on the cpu unless told otherwise."""
    suffixes = {file.path.suffix for file in (loose.baseline, loose.candidate)}
    return DeviceKind.CUDA if ".cu" in suffixes else DeviceKind.CPU


def _renamed(text: str, file: LooseFile, function: str) -> str:
    """The file as it is, with the task's name for its function added at the end."""
    if file.path.suffix == ".py":
        defined = _check_defines(text, file)
        if file.function != function and function in defined:
            raise UsageError(
                f"defines {function} too, which the reference names the task's function",
                where=quote(file.path),
                next_step="rename one of them",
            )
    if file.function == function:
        return text
    if file.path.suffix == ".py":
        alias = f"{function} = {file.function}"
    else:
        on_gpu = _LANGUAGES[file.path.suffix] is Language.CUDA
        stream, passed = (", cudaStream_t stream", ", stream") if on_gpu else ("", "")
        alias = (
            f'extern "C" int {function}(const assay_tensor* tensors, const double* options, '
            f"void* state{stream}) {{ return {file.function}(tensors, options, state{passed}); }}"
        )
    return f"{text.rstrip()}\n\n\n{alias}\n"


def _check_defines(text: str, file: LooseFile) -> list[str]:
    where = quote(file.path)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UsageError(f"not Python: {error.msg}", where=f"{where}:{error.lineno}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"not Python: {quote(error)}", where=where) from None
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if file.function not in defined:
        raise UsageError(
            f"defines no function {file.function}",
            where=where,
            next_step=f"it defines {', '.join(defined)}" if defined else "def it at the top level",
        )
    return defined


def _text(file: LooseFile) -> str:
    try:
        real = file.path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which Python 3.13 lets read_inside meet
        raise UsageError("cannot be read: a loop of links", where=quote(file.path)) from None
    data = read_inside(real.parent, real.name)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 at byte {error.start}", where=quote(file.path)) from None
