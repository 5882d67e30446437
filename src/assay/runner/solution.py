"""Loads a solution and binds it to slots: Python modules, Triton, native libraries."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack
from torch.utils.dlpack import to_dlpack  # type: ignore[attr-defined]

from assay.runner.artefacts import cache_variables
from assay.runner.artefacts import write_artefacts
from assay.runner.artefacts import write_sources
from assay.runner.machine import Call
from assay.runner.machine import Memory
from assay.runner.machine import option_values
from assay.runner.tensors import CTensor
from assay.runner.tensors import c_tensor
from assay.runner.tensors import first_element


class UnsupportedError(Exception):
    """The solution itself said that it does not do this call."""


class PythonSolution:
    """A module whose functions take torch tensors."""

    def __init__(self, request: dict[str, Any], folder: Path) -> None:
        if request["interpret"]:
            os.environ["TRITON_INTERPRET"] = "1"
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location("solution", folder / request["entry"])
        assert spec is not None
        assert spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        sys.modules["solution"] = self._module
        spec.loader.exec_module(self._module)
        if request["config"]:
            self._module.configure(**request["config"])
        self._returns = request["convention"] == "returns"
        self._prepare = request["prepare"]

    def prepare(self, row: dict[str, Any], memory: Memory) -> tuple[object, ...]:
        """Whatever the solution builds once per row, to be passed first in every call."""
        if not self._prepare:
            return ()
        constants = {
            argument["name"]: memory.tensor(argument["tensor"], argument["starts"][0])
            for argument in row["arguments"]
            if argument["constant"] and argument["tensor"] is not None
        }
        build = getattr(self._module, self._prepare)
        return (build(row["function"], constants, dict(row["options"])),)

    def bind(self, row: dict[str, Any], memory: Memory, state: tuple[object, ...]) -> list[Call]:
        function = getattr(self._module, row["function"])
        options = dict(row["options"])
        calls: list[Call] = []
        for slot in range(row["slots"]):
            tensors = [
                None if argument["tensor"] is None else _given(memory, argument, slot)
                for argument in row["arguments"]
            ]
            calls.append(self._bound(function, row, tensors, options, state))
        return calls

    def _bound(
        self,
        function: Callable[..., object],
        row: dict[str, Any],
        tensors: list[torch.Tensor | None],
        options: dict[str, Any],
        state: tuple[object, ...],
    ) -> Call:
        if not self._returns:
            arguments = (*state, *tensors)
            return lambda: function(*arguments, **options)
        roles = [argument["role"] for argument in row["arguments"]]
        given = (*state, *(t for t, r in zip(tensors, roles, strict=True) if r != "output"))
        wanted = [t for t, r in zip(tensors, roles, strict=True) if r == "output"]
        return lambda: _deliver(function(*given, **options), wanted)


def _given(memory: Memory, argument: dict[str, Any], slot: int) -> torch.Tensor:
    """One argument as a model would pass it: what is written has a storage of its own, since a
    compiler that sees it share one with all the others copies them all, or gives up."""
    tensor = memory.tensor(argument["tensor"], argument["starts"][slot])
    return tensor if argument["role"] == "input" else from_dlpack(to_dlpack(tensor))


class WrongResultError(Exception):
    """A returned tensor is not what the task asks for; `args` are kind and sentence."""


def _deliver(result: object, wanted: list[torch.Tensor | None]) -> None:
    results = result if isinstance(result, tuple | list) else (result,)
    if len(results) != len(wanted):
        raise WrongResultError("wrong_shape", f"returned {len(results)} tensors, not {len(wanted)}")
    for got, due in zip(results, wanted, strict=True):
        if due is None:
            continue
        if not isinstance(got, torch.Tensor):
            raise WrongResultError("wrong_shape", f"returned a {type(got).__name__}, not a tensor")
        if got.shape != due.shape:
            raise WrongResultError(
                "wrong_shape", f"returned {list(got.shape)}, not {list(due.shape)}"
            )
        if got.dtype != due.dtype:
            raise WrongResultError("wrong_dtype", f"returned {got.dtype}, not {due.dtype}")
        if got.device != due.device:
            raise WrongResultError("wrong_device", f"returned on {got.device}, not {due.device}")
        if got.stride() != due.stride() and got.numel() > 1:
            strides = f"returned strides {got.stride()}, not {due.stride()}"
            raise WrongResultError("wrong_stride", strides)
        due.copy_(got)


class NativeSolution:
    """A shared library with the C ABI of assay.h, or on a GPU that of assay_cuda.h."""

    def __init__(self, request: dict[str, Any], folder: Path, stream: int | None) -> None:
        self._library = ctypes.CDLL(str(folder / request["entry"]), mode=os.RTLD_NOW)
        self._prepare = request["prepare"]
        self._stream = () if stream is None else (ctypes.c_void_p(stream),)

    def prepare(self, row: dict[str, Any], memory: Memory) -> tuple[object, ...]:
        if not self._prepare:
            return ()
        build = getattr(self._library, self._prepare)
        build.restype = ctypes.c_void_p
        return (build(_c_tensors(row, memory, 0), option_values(row), *self._stream),)

    def bind(self, row: dict[str, Any], memory: Memory, state: tuple[object, ...]) -> list[Call]:
        function = getattr(self._library, row["function"])
        function.restype = ctypes.c_int
        options = option_values(row)
        pointer = ctypes.c_void_p(state[0] if state else None)  # type: ignore[arg-type]
        return [
            _bound(function, (_c_tensors(row, memory, slot), options, pointer, *self._stream))
            for slot in range(row["slots"])
        ]


def _bound(function: Any, arguments: tuple[Any, ...]) -> Call:
    def call() -> None:
        if function(*arguments):
            raise UnsupportedError("the library returned an error for this call")

    return call


def _c_tensors(row: dict[str, Any], memory: Memory, slot: int) -> Any:
    made = [
        c_tensor(
            memory.address + first_element(a["tensor"], a["starts"][slot]) if a["tensor"] else 0,
            a["tensor"],
        )
        for a in row["arguments"]
    ]
    return (CTensor * len(made))(*made)


def load(
    request: dict[str, Any], folder: Path, stream: int | None = None
) -> PythonSolution | NativeSolution:
    """Write the sources where nobody else sees them, and load the entry as the task's callers
    would: with its variables set, and gradients as the contract has them."""
    write_sources(folder, request["files"])
    write_artefacts(folder, request["cache"], request["times"])
    os.environ.update(cache_variables(folder, request["environment"], request["cache_place"]))
    torch.set_grad_enabled(request["gradients"])
    try:
        if request["language"] in {"cpp", "cuda"}:
            return NativeSolution(request, folder, stream)
        return PythonSolution(request, folder)
    finally:
        # What a module switched while it was loaded is not how it is called.
        torch.set_grad_enabled(request["gradients"])
