"""Whether a FlashInfer-Bench reference runs, and in float64; inside the sandbox alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from assay.task.exchange import probing
from assay.task.exchange.probing import RefusedError
from assay.task.exchange.probing import first_line
from assay.task.exchange.wide import Wide

_PRECISIONS = {"half_precision": torch.float16, "bfloat16_precision": torch.bfloat16}


def main() -> None:
    probing.answer(probe)


def probe(request: dict[str, Any]) -> dict[str, Any]:
    module = probing.load_source(Path(request["reference"]), "reference")
    run = getattr(module, "run", None)
    if not callable(run):
        raise RefusedError("its reference defines no function run")
    outputs = request["outputs"]
    first = _answer(run, _inputs(request, 1), outputs, "on drawn values")
    if not probing.same_bits(first, _answer(run, _inputs(request, 1), outputs, "")):
        raise RefusedError("its reference draws random numbers: two calls give two answers")
    for output, tensor in zip(outputs, first, strict=True):
        if list(tensor.shape) != output["shape"]:
            raise RefusedError(
                f"its reference gives {output['name']} of shape {list(tensor.shape)}, "
                f"where the definition says {output['shape']}"
            )
        if probing.dtype_name(tensor, output["name"]) != output["dtype"]:
            raise RefusedError(
                f"its reference gives {output['name']} in {tensor.dtype}, "
                f"where the definition says {output['dtype']}"
            )
    wide = [x.double() if _is_float(x) else x for x in _inputs(request, 1)]
    with Wide():
        precise = _answer(run, wide, outputs, "in float64")
    if probing.shapes_of(precise) != probing.shapes_of(first):
        raise RefusedError("its reference gives other shapes in float64")
    return {"equivalent": list(_equivalent(run, request, precise))}


def _equivalent(
    run: Any, request: dict[str, Any], precise: list[torch.Tensor]
) -> Iterator[dict[str, str]]:
    """Mutants of precision that are none: all is narrow already, and widened before it is used."""
    inputs = _inputs(request, 1)
    dtypes = {x.dtype for x in inputs if _is_float(x)}
    for mutant, dtype in _PRECISIONS.items():
        if dtypes != {dtype}:
            continue
        with Wide():
            narrow = _answer(run, inputs, request["outputs"], "in float64")
        due = [getattr(torch, output["dtype"]) for output in request["outputs"]]
        if probing.same_bits(_rounded(precise, due), _rounded(narrow, due)):
            shown = str(dtype).removeprefix("torch.")
            reason = f"every input is {shown} already, and the reference widens it before use"
            yield {"mutant": mutant, "reason": reason}


def _rounded(tensors: list[torch.Tensor], dtypes: list[torch.dtype]) -> list[torch.Tensor]:
    return [tensor.to(dtype) for tensor, dtype in zip(tensors, dtypes, strict=True)]


def _answer(
    run: Any, inputs: list[Any], outputs: list[dict[str, Any]], how: str
) -> list[torch.Tensor]:
    try:
        answer = run(*inputs)
    # Whatever a reference raises becomes a line.
    except Exception as error:  # noqa: BLE001
        raise RefusedError(f"its reference fails {how}: {first_line(error)}") from None
    if isinstance(answer, dict):
        missing = [o["name"] for o in outputs if o["name"] not in answer]
        if missing:
            raise RefusedError(f"its reference gives no {missing[0]}")
        answer = [answer[o["name"]] for o in outputs]
    found = probing.tensors_of(answer, "its reference gives")
    if len(found) != len(outputs):
        raise RefusedError(f"its reference gives {len(found)} outputs, not {len(outputs)}")
    return found


def _inputs(request: dict[str, Any], seed: int) -> list[Any]:
    torch.manual_seed(seed)
    return [_input(item) for item in request["inputs"]]


def _input(item: dict[str, Any]) -> Any:
    if "value" in item:
        return item["value"]
    dtype: torch.dtype = getattr(torch, item["dtype"])
    if dtype is torch.bool:
        return torch.randint(0, 2, item["shape"]).bool()
    if dtype.is_floating_point:
        return torch.randn(item["shape"]).to(dtype)
    low, bound = item["integers"]
    return torch.randint(low, bound, item["shape"]).to(dtype)


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
