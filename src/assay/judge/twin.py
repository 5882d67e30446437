"""The copy twin of a task's functions: as a program, and as the bytes that it moves."""

from __future__ import annotations

import math
from functools import lru_cache

from assay.device.runners.program import Program
from assay.device.runners.target import Target
from assay.judge.build import LIBRARY
from assay.judge.build import compile_library
from assay.judge.toolchain import toolchain_for
from assay.spec.errors import UnavailableError
from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.task import Task
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

_SOURCES = {Language.CPP: ("twin.cpp", "twin.h"), Language.CUDA: ("twin.cu", "twin.cuh")}
"""By language: the source that is written here, and the header that does the work."""


def twin_program(task: Task, target: Target) -> Program:
    """A library that has the task's functions by name, each of which only moves the bytes."""
    language, entry, library = _library(tuple(map(_twin, task.functions)), target)
    solution = Solution(name="twin", language=language, sources=(entry,), entry=entry)
    return Program(task, solution, {LIBRARY: library}, LIBRARY)


@lru_cache(maxsize=8)
def _library(functions: tuple[str, ...], target: Target) -> tuple[Language, str, bytes]:
    """Compiled once in the life of a process: nothing in it is a solution's to decide."""
    toolchain = toolchain_for(target)
    if toolchain is None:
        raise UnavailableError(f"there is no copy twin for a {target.kind} device")
    entry, header = _SOURCES[toolchain.language]
    source = "\n".join([f'#include "{header}"', *functions]).encode() + b"\n"
    made = compile_library({entry: source}, entry, toolchain.base_flags(target), toolchain)
    return toolchain.language, entry, made.library


def _twin(function: Function) -> str:
    roles = [argument.role for argument in function.arguments]
    read = sum(1 << index for index, role in enumerate(roles) if role is not Role.OUTPUT)
    written = sum(1 << index for index, role in enumerate(roles) if role is not Role.INPUT)
    return f"ASSAY_TWIN({function.name}, {len(roles)}, {read}ull, {written}ull)"


def bytes_moved(function: Function, row: Row) -> tuple[int, int]:
    """The bytes that a call must read, and those that it must write.

    All of every tensor that is passed: a function that picks by index may need less.
    """
    read = written = 0
    for argument in function.arguments:
        tensor = row.tensors.get(argument.name)
        if tensor is None:
            continue
        held = _stored_bytes(tensor)
        read += held if argument.role is not Role.OUTPUT else 0
        written += held if argument.role is not Role.INPUT else 0
    return read, written


def _stored_bytes(tensor: TensorSpec) -> int:
    """As assay_bytes of assay.h: a broadcast axis counts once, and so do elements that overlap."""
    steps = tensor.strides or tensor.contiguous_strides
    apart = math.prod(n for n, step in zip(tensor.shape, steps, strict=True) if step)
    reach = tensor.storage_elements - tensor.offset
    return min(apart, reach) * tensor.dtype.itemsize
