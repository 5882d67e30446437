"""State: how torch is set in the thread that calls, as far as another path may depend on it."""

from __future__ import annotations

from typing import Any

import torch


def now(*, device: bool) -> dict[str, Any]:
    """Gradients, default dtype, autocast and, on a device, whether the stream is the default."""
    kind = "cuda" if device else "cpu"
    default_stream = None
    if device:
        default_stream = torch.cuda.current_stream() == torch.cuda.default_stream()
    return {
        "gradients": torch.is_grad_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "autocast": torch.is_autocast_enabled(kind),
        "default_stream": default_stream,
    }
