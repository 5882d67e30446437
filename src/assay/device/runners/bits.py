"""Bits: whether two tensors hold the same bytes, NaN payloads and signs of zero included."""

from __future__ import annotations

import torch


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Element for element, whatever the layout of either."""
    return torch.equal(_bytes(first), _bytes(second))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    # Not contiguous(): a tensor of one element counts as contiguous whatever its stride is, and
    # view then refuses it.
    plain = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return plain.copy_(tensor).reshape(-1).view(torch.uint8)
