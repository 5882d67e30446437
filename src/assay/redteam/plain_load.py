"""Loads a solution into the plain evaluator's own process."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import tempfile
import tomllib
from abc import ABC
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from assay.device.runners.target import Target
from assay.judge.build import LIBRARY
from assay.judge.build import compile_library
from assay.judge.toolchain import toolchain_of
from assay.runner.tensors import CTensor
from assay.runner.tensors import c_tensor
from assay.spec.solution import Language

ENTRY = "rms_norm"
_TENSORS = ("x", "w", "y")

Call = Callable[[], object]


class Loaded(ABC):
    """A solution that can be bound to inputs."""

    @abstractmethod
    def bind(self, inputs: dict[str, Any]) -> Call:
        """A call on these inputs, its prepare step done."""


class PythonSolution(Loaded):
    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location("solution", folder / document["entry"])
        assert spec is not None
        assert spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        sys.modules["solution"] = self._module
        spec.loader.exec_module(self._module)
        if document.get("config"):
            self._module.configure(**document["config"])
        self._prepare = document.get("prepare")
        self._returns = document.get("convention") == "returns"

    def bind(self, inputs: dict[str, Any]) -> Call:
        function = getattr(self._module, ENTRY)
        options = {"eps": inputs["eps"]}
        state: tuple[object, ...] = ()
        if self._prepare:
            state = (getattr(self._module, self._prepare)(ENTRY, {"w": inputs["w"]}, options),)
        names = _TENSORS[:-1] if self._returns else _TENSORS

        def call() -> object:
            return function(*state, *(inputs[name] for name in names), **options)

        return call


class NativeSolution(Loaded):
    def __init__(self, folder: Path, document: dict[str, Any], device: str) -> None:
        toolchain = toolchain_of(Language(document["language"]))
        assert toolchain is not None
        sources = {name: (folder / name).read_bytes() for name in document["sources"]}
        config = (f"-D{name}={value}" for name, value in document.get("config", {}).items())
        flags = (*toolchain.base_flags(_target(device)), *document.get("flags", ()), *config)
        made = compile_library(sources, document["entry"], flags, toolchain)
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / LIBRARY
            path.write_bytes(made.library)
            self._library = ctypes.CDLL(str(path))
        self._prepare = document.get("prepare")
        self._device = device

    def bind(self, inputs: dict[str, Any]) -> Call:
        tensors = (CTensor * len(_TENSORS))(*(_described(inputs[name]) for name in _TENSORS))
        options = (ctypes.c_double * 1)(inputs["eps"])
        stream: tuple[ctypes.c_void_p, ...] = ()
        if self._device != "cpu":
            stream = (ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),)
        state = None
        if self._prepare:
            build = getattr(self._library, self._prepare)
            build.restype = ctypes.c_void_p
            state = build(tensors, options, *stream)
        function = getattr(self._library, ENTRY)
        arguments = (tensors, options, ctypes.c_void_p(state), *stream)

        def call() -> None:
            function(*arguments)

        return call


def _described(tensor: torch.Tensor) -> CTensor:
    return c_tensor(
        tensor.data_ptr(),
        {
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "dtype": str(tensor.dtype).removeprefix("torch."),
        },
    )


def _target(device: str) -> Target:
    if device == "cpu":
        return Target(device)
    major, minor = torch.cuda.get_device_capability()
    return Target(device, f"{major}{minor}a" if major == 9 else f"{major}{minor}")


def load(folder: Path, device: str) -> Loaded:
    """The solution in a folder, compiled where it has to be."""
    document = tomllib.loads((folder / "solution.toml").read_text())
    if document["language"] in {"cpp", "cuda"}:
        return NativeSolution(folder, document, device)
    return PythonSolution(folder, document)
