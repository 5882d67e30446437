"""A KernelBench problem that is run to be looked at; inside the sandbox alone."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import torch
from torch import nn

from assay.task.exchange import probing
from assay.task.exchange.kernelbench_module import input_names
from assay.task.exchange.kernelbench_module import normal_like
from assay.task.exchange.kernelbench_module import power_of
from assay.task.exchange.kernelbench_module import relative_error
from assay.task.exchange.kernelbench_module import same_shape
from assay.task.exchange.kernelbench_module import some_of
from assay.task.exchange.kernelbench_module import untouched
from assay.task.exchange.kernelbench_module import widened
from assay.task.exchange.kernelbench_text import SEED
from assay.task.exchange.probing import RefusedError
from assay.task.exchange.probing import first_line
from assay.task.exchange.wide import Wide

_OFTEN_ZERO = 0.2

Inputs = list[object]


class Problem:
    def __init__(self, module: ModuleType) -> None:
        self.module = module
        for needed in ("Model", "get_inputs", "get_init_inputs"):
            if not hasattr(module, needed):
                raise RefusedError(f"it defines no {needed}")
        self.model = self.made()
        self.inputs = self.given(1)
        self.names = input_names(self.model, self.inputs)
        self.written: set[str] = set()
        """Buffers that a call writes: a running mean, say. What it answers may not rest on them."""
        self.weights = self._weights()
        self.scales: dict[str, int] = {}

    def made(self, seed: int = SEED) -> nn.Module:
        torch.manual_seed(seed)
        arguments = self.module.get_init_inputs()
        if not isinstance(arguments, tuple | list):
            raise RefusedError(
                f"get_init_inputs gives a {type(arguments).__name__}, which is no list"
            )
        model = self.module.Model(*arguments)
        if not isinstance(model, nn.Module):
            raise RefusedError("Model is no torch.nn.Module")
        return model

    def given(self, seed: int) -> Inputs:
        torch.manual_seed(seed)
        inputs = self.module.get_inputs()
        if not isinstance(inputs, tuple | list):
            raise RefusedError(f"get_inputs gives a {type(inputs).__name__}, which is no list")
        return list(inputs)

    def _weights(self) -> dict[str, torch.Tensor]:
        """Parameters, and buffers that are drawn like parameters; tables and masks stay what the
        problem makes them."""
        found: dict[str, torch.Tensor] = dict(self.model.named_parameters())
        others = dict(self.made(SEED + 1).named_buffers())
        for name, buffer in self.model.named_buffers():
            drawn = buffer.is_floating_point() and not probing.same_bits([buffer], [others[name]])
            if drawn:
                found[name] = buffer
        return found

    # -- what is refused

    def check_modules(self) -> None:
        for name, part in self.model.named_modules():
            share = getattr(part, "p", None)
            dropout = isinstance(part, nn.modules.dropout._DropoutNd)
            if isinstance(part, nn.RNNBase | nn.MultiheadAttention):
                share, dropout = part.dropout, True
            if dropout and part.training and isinstance(share, float) and share > 0:
                where = name or "the module itself"
                raise RefusedError(
                    f"dropout in training mode ({where}, p = {share}): its answers are random"
                )

    def check_calls(self) -> list[torch.Tensor]:
        """Two calls of one module, and one of a module just made under another seed of calls."""
        before = {k: v.clone() for k, v in self._state(self.model).items()}
        first = self.called(self.model, self.inputs, seed=10)
        self._note_written(before)
        fresh = self.called(self.made(), self.inputs, seed=11)
        if not probing.same_bits(first, fresh):
            raise RefusedError("forward draws random numbers: two calls give two answers")
        if not probing.same_bits(first, self.called(self.model, self.inputs, seed=10)):
            raise RefusedError(
                "forward keeps a state from call to call: the second call answers otherwise"
            )
        return first

    def _note_written(self, before: Mapping[str, torch.Tensor]) -> None:
        for name, tensor in self._state(self.model).items():
            if not probing.same_bits([tensor], [before[name]]):
                if name in dict(self.model.named_parameters()):
                    raise RefusedError(f"forward writes to its parameter {name}")
                self.written.add(name)
        for name in self.written:
            self.weights.pop(name, None)

    @staticmethod
    def _state(model: nn.Module) -> dict[str, torch.Tensor]:
        return {**dict(model.named_parameters()), **dict(model.named_buffers())}

    def called(self, model: nn.Module, inputs: Inputs, seed: int = 10) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        answer = probing.tensors_of(model(*copies), "forward returns")
        for name, before, after in zip(self.names, inputs, copies, strict=True):
            if isinstance(before, torch.Tensor) and not untouched(before, after):
                raise RefusedError(f"forward writes to its input {name}")
        return [tensor.clone() for tensor in answer]

    def check_other_data(self, answers: list[torch.Tensor]) -> None:
        """Whether shapes stay and nothing fails on such values as a judge draws."""
        for kind, fill in (("normal values", normal_like), ("zeros", torch.zeros_like)):
            got = self._judged(fill, kind)
            if probing.shapes_of(got) != probing.shapes_of(answers):
                raise RefusedError("the shape of the output depends on the data")
            if kind == "normal values" and not self._finite(got):
                # Weights around one overflow in a deep network: scaled down, exactly, to the size
                # that the problem gives them.
                self.scales = {n: power_of(w) for n, w in self.weights.items() if power_of(w)}

    @staticmethod
    def _finite(answers: list[torch.Tensor]) -> bool:
        return all(bool(a.isfinite().all()) for a in answers if a.is_floating_point())

    def _judged(
        self, fill: Callable[[torch.Tensor], torch.Tensor], kind: str
    ) -> list[torch.Tensor]:
        model = self.made()
        torch.manual_seed(3)
        for name, tensor in self._state(model).items():
            if name in self.weights and tensor.is_floating_point():
                tensor.data = torch.randn(tensor.shape).mul_(0.5).add_(1).to(tensor.dtype)
        torch.manual_seed(4)
        inputs = [
            fill(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
            for x in self.given(2)
        ]
        try:
            return self.called(model, inputs)
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001
            raise RefusedError(
                f"forward fails on {kind} of the same shapes: {first_line(error)}"
            ) from None

    def check_precision(self, answers: list[torch.Tensor]) -> list[str]:
        """In float64 it must run and say the same, but for rounding."""
        model = widened(self.made())
        inputs = [
            x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
            for x in self.inputs
        ]
        try:
            with Wide():
                wide = self.called(model, inputs)
        except RefusedError:
            raise
        except Exception as error:  # noqa: BLE001
            raise RefusedError(f"forward does not run in float64: {first_line(error)}") from None
        if probing.shapes_of(wide) != probing.shapes_of(answers):
            raise RefusedError("forward gives other shapes in float64")
        return [
            f"output {index} in float64 is off by {off:.2g} of its largest value"
            for index, (a, b) in enumerate(zip(answers, wide, strict=True))
            if a.is_floating_point() and (off := relative_error(a, b)) > 0.01
        ]

    # -- what is told

    def remarks(self) -> list[str]:
        found = []
        if self.written:
            found.append(
                f"forward writes {some_of(self.written)}: no argument, and no part of the answer"
            )
        if self.scales:
            found.append("weights around one overflow here: each is scaled by a power of two first")
        for name, value in zip(self.names, self.inputs, strict=True):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 1:
                zeros = float((value == 0).float().mean())
                if zeros > _OFTEN_ZERO:
                    found.append(
                        f"get_inputs fills {name} with {zeros:.0%} zeros; "
                        "a judge fills it with anything, so no solution may rely on them"
                    )
        return found

    def described_inputs(self) -> list[dict[str, Any]]:
        described = []
        for name, value in zip(self.names, self.inputs, strict=True):
            if isinstance(value, torch.Tensor):
                described.append(self._described(name, value))
            elif isinstance(value, bool | int | float | str):
                described.append({"name": name, "kind": "scalar", "value": value})
            elif value is None:
                described.append({"name": name, "kind": "none"})
            else:
                kind = type(value).__name__
                raise RefusedError(f"input {name} is a {kind}: neither a tensor nor a scalar")
        return described

    def _described(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        dtype = probing.dtype_name(tensor, f"input {name}")
        described: dict[str, Any] = {"name": name, "kind": "tensor", "dtype": dtype}
        described["shape"] = list(tensor.shape)
        whole = not tensor.is_floating_point() and tensor.dtype is not torch.bool
        if whole and tensor.numel():
            drawn = [t for seed in (1, 2, 3) if same_shape(t := self._again(name, seed), tensor)]
            described["low"] = min(int(t.min()) for t in drawn)
            described["high"] = max(int(t.max()) for t in drawn)
        return described

    def _again(self, name: str, seed: int) -> torch.Tensor:
        value = self.given(seed)[self.names.index(name)]
        if not isinstance(value, torch.Tensor):
            raise RefusedError(f"get_inputs gives a tensor for {name} only at times")
        return value

    def described_weights(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "shape": list(tensor.shape),
                "dtype": probing.dtype_name(tensor, f"parameter {name}"),
                "power": self.scales.get(name, 0),
            }
            for name, tensor in self.weights.items()
        ]
