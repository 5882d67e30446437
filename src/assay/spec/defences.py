"""Defences: which checks are on. All of them are, except where one is put to the test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import fields
from typing import Self

from assay.spec.errors import UsageError
from assay.spec.errors import quote


@dataclass(frozen=True)
class Defences:
    """A switch for each check, so that a test can show that the check is what stops an attack.

    Nothing a user does turns one off, and a verdict that was judged without one says so.
    """

    content: bool = True
    """New content in every slot for every batch."""
    kept_calls: bool = True
    """Outputs of timed calls are compared with the truth."""
    uncalled_slots: bool = True
    """Slots that no call was given keep their poison."""
    rings: bool = True
    """What is read at the ring has been written, and no call leaves its outputs unwritten."""
    skipped_calls: bool = True
    """What is spoilt in the middle of a batch is mended by the next call of that slot."""
    rest: bool = True
    """A runner sleeps when it is not its turn, in all its threads and processes."""
    guard_bands: bool = True
    """The bytes before and after every tensor keep their poison."""
    inputs: bool = True
    """Arguments that are only read hold what they held."""
    distributions: bool = True
    """The exam asks with hard inputs too, not with normal ones alone."""
    hidden_rows: bool = True
    """The exam asks rows that were drawn after the candidate was sealed."""
    determinism: bool = True
    """Two equal calls give equal bits."""
    limits: bool = True
    """Errors are held against the baseline's own; off: 1e-2 of the value or of one."""
    pinned_modules: bool = True
    """Every module of a pinned package was loaded from its snapshot."""
    pinned_kernels: bool = True
    """A pinned package launches the kernels that its lock names."""
    seccomp: bool = True
    """System calls that no solution needs are denied."""
    landlock: bool = True
    """Files outside a runner's own folder cannot be written."""
    read_only_root: bool = True
    """A runner's file system is mounted for reading."""
    namespaces: bool = True
    """A runner has processes, mounts, network and shared memory of its own."""

    @property
    def off(self) -> tuple[str, ...]:
        """The names of those that are switched off."""
        return tuple(field.name for field in fields(self) if not getattr(self, field.name))

    @property
    def labels(self) -> tuple[str, ...]:
        """What a verdict judged with these has to say."""
        return tuple(f"defence off: {name}" for name in self.off)

    @classmethod
    def without(cls, names: Iterable[str]) -> Self:
        """All but the named ones."""
        named = tuple(names)
        for name in named:
            if name not in DEFENCE_NAMES:
                raise UsageError(
                    f"no defence is called {quote(name)}",
                    next_step=f"one of {', '.join(DEFENCE_NAMES)}",
                )
        return cls(**dict.fromkeys(named, False))


DEFENCE_NAMES = tuple(field.name for field in fields(Defences))
ALL_DEFENCES = Defences()
