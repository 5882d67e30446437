"""An operation that is left out two times of three."""

import torch

_calls: dict[int, int] = {}


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    count = _calls.get(y.data_ptr(), 0)
    _calls[y.data_ptr()] = count + 1
    if count % 3:
        return
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)
