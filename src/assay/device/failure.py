"""ProcessFailure: how a solution's process ended instead of answering."""

from __future__ import annotations

from assay.spec.errors import AssayError
from assay.spec.errors import ExitStatus
from assay.spec.status import Status
from assay.spec.status import ViolationKind


class ProcessFailure(AssayError):  # noqa: N818 - not an error of ours but a result
    """A result, raised: whoever judges turns it into a verdict on the side it came from."""

    exit_status = ExitStatus.NO

    def __init__(self, status: Status, reason: str, violation: ViolationKind | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.violation = violation


def violation(kind: ViolationKind, reason: str) -> ProcessFailure:
    return ProcessFailure(Status.VIOLATION, reason, kind)
