"""Bits: whether two tensors hold the same bytes, NaN payloads and signs of zero included."""

from __future__ import annotations

import torch


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Element for element, whatever the layout of either."""
    if first.numel() * first.itemsize != second.numel() * second.itemsize:
        return False
    one, other = _bytes(first), _bytes(second)
    # Eight at a time: torch compares bytes at a fraction of what memory delivers.
    whole = one.numel() // 8 * 8
    eights = (part[:whole].view(torch.int64) for part in (one, other))
    return torch.equal(*eights) and torch.equal(one[whole:], other[whole:])


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    # Not contiguous(): a tensor of one element counts as contiguous whatever its stride is, and
    # view then refuses it.
    plain = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return plain.copy_(tensor).reshape(-1).view(torch.uint8)
