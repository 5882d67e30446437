"""A task of every role, and tensors of bytes between guards, to call twins on."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from assay.runner.tensors import CTensor
from assay.spec.documents import parse_document
from assay.spec.task import Task
from tests.device.cpu.making import TASK

POISON = 0xAB
GUARD = 64
UINT8 = 11
ABSENT = CTensor()

# Shape, strides, elements that lie apart from each other.
LAYOUTS = [
    ((), None, 1),
    ((0, 5), None, 0),
    ((3, 4), None, 12),
    ((3, 4), (8, 2), 12),
    ((3, 4), (1, 3), 12),
    ((3, 4), (0, 1), 4),
    ((3, 4), (4, 0), 3),
    ((3, 4), (0, 0), 1),
    ((0, 4), (0, 1), 0),
    ((4, 4), (1, 1), 7),
    ((1, 4), (0, 1), 4),
]


def argument(name: str, role: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": role, "shape": ["n"], "dtypes": ["uint8"], **more}


# Called like a function of the C library and of CUDA's headers: twins bear the name all the same.
NORM = {
    "name": "norm",
    "summary": "two inputs, one of them a weight that may be absent; one in place; one output",
    "arguments": [
        argument("x", "input"),
        argument("weight", "input", optional=True, constant=True),
        argument("residual", "inout"),
        argument("y", "output"),
    ],
}


def norm_task() -> Task:
    return parse_document({**TASK, "functions": [NORM]}, Task, "task.toml")


class Place:
    """A tensor of bytes in the middle of memory that is nobody's."""

    def __init__(self, size: int, shift: int, fill: int) -> None:
        self.memory = np.full(size + shift + 2 * GUARD + 16, POISON, np.uint8)
        begin = -self.memory.ctypes.data % 16 + GUARD + shift
        self.bytes = self.memory[begin : begin + size]
        self.bytes[:] = fill
        self.around = np.ones(len(self.memory), bool)
        self.around[begin : begin + size] = False
        shape = (size, *[0] * 7)
        self.c = CTensor(self.bytes.ctypes.data, UINT8, 1, shape, (1, *[0] * 7))

    def stayed_inside(self) -> bool:
        return bool((self.memory[self.around] == POISON).all())


def load(library: bytes, folder: Path) -> ctypes.CDLL:
    path = folder / "library.so"
    path.write_bytes(library)
    return ctypes.CDLL(str(path))
