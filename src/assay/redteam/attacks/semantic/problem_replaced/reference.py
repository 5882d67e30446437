"""A reference with which the easiest answer is the right one."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, *, eps: float) -> torch.Tensor:
    return x
