"""Status: the closed set of ways in which a judgement can end."""

from __future__ import annotations

import enum

from assay.spec.errors import ExitStatus


class Status(enum.StrEnum):
    """Ordered from the earliest failure to the best news."""

    BUILD_ERROR = "build_error"
    IMPORT_ERROR = "import_error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_STRIDE = "wrong_stride"
    WRONG_DEVICE = "wrong_device"
    WRONG_VALUE = "wrong_value"
    NONDETERMINISTIC = "nondeterministic"
    VIOLATION = "violation"
    UNCLEAR = "unclear"
    SAME = "same"
    SLOWER = "slower"
    FASTER = "faster"

    @property
    def is_timed(self) -> bool:
        """Whether the solution got as far as the clock: right, and within the rules."""
        return self in _TIMED

    @property
    def exit_status(self) -> ExitStatus:
        if self is Status.FASTER:
            return ExitStatus.YES
        return ExitStatus.CANNOT_TELL if self is Status.UNCLEAR else ExitStatus.NO


_TIMED = frozenset({Status.UNCLEAR, Status.SAME, Status.SLOWER, Status.FASTER})


class ViolationKind(enum.StrEnum):
    """What rule was broken. Each kind has a check that finds it and an attack that tries it."""

    EARLY_RING = "early_ring"
    """The runner said that it was done before its work was."""
    SLOT_WRITTEN = "slot_written"
    """A slot that was not called yet, or a guard band, lost its poison."""
    SKIPPED_CALL = "skipped_call"
    """A call of a slot that had been called before left no trace."""
    OUT_OF_TURN = "out_of_turn"
    """Work in the time between an answer and the next request, when the rival may be timed."""
    INPUT_WRITTEN = "input_written"
    """An argument that is read-only by contract was changed."""
    IMPOSSIBLE_TIME = "impossible_time"
    """Faster than the bytes that must move could move."""
    BASELINE_PATH = "baseline_path"
    """The baseline did not launch the kernels that its lock names."""
    FOREIGN_MODULE = "foreign_module"
    """A module of a pinned package was loaded from outside its snapshot."""
    FOREIGN_KERNEL = "foreign_kernel"
    """Work on the device that no call of the solution explains."""
    BUILD_FLAGS = "build_flags"
    """Flags that the baseline was not given, such as fast-math."""
    LANGUAGE = "language"
    """Another language than the task asks for."""
    SEALED_SOURCE = "sealed_source"
    """Sources changed after they were sealed."""
    SANDBOX = "sandbox"
    """A call that the sandbox denies."""
    LEFT_BEHIND = "left_behind"
    """A process, file or shared memory that outlived its runner."""
