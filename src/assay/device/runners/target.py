"""Target: what solutions are built for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A kind of device, and the architecture that its compiler is told.

    `arch` is empty for a cpu (the host's own), and for CUDA what follows `sm_`, as in 90a.
    """

    kind: str
    arch: str = ""

    @property
    def interprets_triton(self) -> bool:
        """Whether Triton has no speed here: its interpreter shows what is right, nothing more."""
        return self.kind == "cpu"
