"""Pieces: runs of bytes that belong to the elements of a tensor, and not to a gap between them."""

from __future__ import annotations

import random

from assay.spec.workload import TensorSpec


class Pieces:
    """Of a tensor that has elements."""

    def __init__(self, tensor: TensorSpec) -> None:
        self._itemsize = tensor.dtype.itemsize
        self._offset = tensor.offset
        self._axes = list(
            zip(tensor.shape, tensor.strides or tensor.contiguous_strides, strict=True)
        )
        if tensor.storage_elements == tensor.elements:
            self._axes = [(tensor.elements, 1)]

    def draw(self, most_bytes: int, lot: random.Random) -> tuple[int, int]:
        """A random run of whole elements: its first byte from the storage's start, its length."""
        most = max(most_bytes // self._itemsize, 1)
        first, count = self._offset, 1
        for extent, stride in self._axes:
            if stride == 1 and count == 1:
                count = min(extent, most)
                first += lot.randrange(extent - count + 1)
            else:
                first += lot.randrange(extent) * stride
        return first * self._itemsize, count * self._itemsize
