"""Wide: code that asks for narrow floats, run in float64. Its text goes into references."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Wide(TorchFunctionMode):
    """Whatever code makes or casts to a float of 16 or 32 bits comes as float64 instead."""

    narrow = (torch.float32, torch.float16, torch.bfloat16)
    casts = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)

    def __enter__(self) -> Any:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        torch.set_default_dtype(self.before)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in self.casts:
            return args[0].double()
        named = {key: self.widened(value) for key, value in (kwargs or {}).items()}
        return func(*map(self.widened, args), **named)

    def widened(self, value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value in self.narrow else value
