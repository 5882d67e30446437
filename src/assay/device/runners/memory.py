"""Memory: bytes that belong to the referee and that a runner maps."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt
import torch

Bytes = npt.NDArray[np.uint8]


class Memory(abc.ABC):
    """One allocation. `flat` is all of it as a tensor, where it lies."""

    flat: torch.Tensor
    size: int
    descriptor: int
    """What is handed to a runner; nothing else leads to this memory."""

    @abc.abstractmethod
    def read(self, start: int, count: int) -> bytes:
        """Bytes as they are this moment, without taking the device from whoever computes on it."""

    @abc.abstractmethod
    def column(self, start: int, width: int, pitch: int, count: int) -> Bytes:
        """The same of `count` pieces, one every `pitch` bytes, each a line."""

    @abc.abstractmethod
    def write(self, start: int, data: bytes) -> None:
        """Put bytes there, done when this returns, in the middle of a batch if need be."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of it; the memory itself goes when its last holder does."""
