"""The copy twin of a task's functions, as a program for the cpu device."""

from __future__ import annotations

from assay.device.cpu import CpuProgram
from assay.judge.build import BASE_FLAGS
from assay.judge.build import compile_library
from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.task import Task


def twin_program(task: Task) -> CpuProgram:
    """A library that has the task's functions by name, each of which only moves the bytes."""
    lines = ['#include "twin.h"', *(_twin(function) for function in task.functions)]
    source = "\n".join(lines).encode() + b"\n"
    solution = Solution(name="twin", language=Language.CPP, sources=("twin.cpp",), entry="twin.cpp")
    library = compile_library({"twin.cpp": source}, "twin.cpp", BASE_FLAGS)
    return CpuProgram(task, solution, {"library.so": library}, "library.so")


def _twin(function: Function) -> str:
    written = sum(
        1 << index
        for index, argument in enumerate(function.arguments)
        if argument.role is not Role.INPUT
    )
    return f"ASSAY_TWIN({function.name}, {len(function.arguments)}, {written}ull)"
